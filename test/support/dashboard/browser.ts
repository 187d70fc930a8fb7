import { CSRF_FIELD } from "../../../dashboard/session/csrf.ts";

interface Page {
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** A browser without scripts: it keeps cookies, sends forms, and follows no redirect. */
export interface Browser {
  cookies: Map<string, string>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Page>;
  post(path: string, form: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<Page>;
  /** Loads a page for its form's token, and sends that with the form. */
  submit(page: string, path: string, form?: Readonly<Record<string, string>>): Promise<Page>;
}

export function createBrowser(baseUrl: string): Browser {
  const cookies = new Map<string, string>();

  async function send(
    path: string,
    { headers = {}, ...init }: Omit<RequestInit, "headers"> & { headers?: Readonly<Record<string, string>> },
  ) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(baseUrl + path, {
      ...init,
      redirect: "manual",
      headers: { ...(cookie === "" ? {} : { cookie }), ...headers },
    });
    for (const line of response.headers.getSetCookie()) keep(line);
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  }

  function keep(line: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === "" || /max-age=0(;|$)/i.test(line)) cookies.delete(name);
    else cookies.set(name, value);
  }

  const get: Browser["get"] = (path, headers = {}) => send(path, { headers: { accept: "text/html", ...headers } });
  const post: Browser["post"] = (path, form, headers = {}) =>
    send(path, {
      method: "POST",
      body: new URLSearchParams(form),
      headers: { accept: "text/html", origin: new URL(baseUrl).origin, ...headers },
    });
  return {
    cookies,
    get,
    post,
    submit: async (page, path, form = {}) => post(path, { ...form, [CSRF_FIELD]: formToken((await get(page)).text) }),
  };
}

/** The hidden fields that a page's forms must send. */
export function formToken(page: string): string {
  return new RegExp(`name="${CSRF_FIELD}"\\s+value="([^"]*)"`).exec(page)?.[1] ?? "";
}
