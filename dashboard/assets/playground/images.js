// Images for the next message. They are read here and sent with it; none is stored.
const MAX_IMAGES = 8;
const MAX_BYTES = 5 * 1024 * 1024;
const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

export function createImages({ list, input, button, onProblem }) {
  let images = [];

  function render() {
    list.hidden = images.length === 0;
    list.replaceChildren(...images.map(item));
  }

  function item(image) {
    const made = document.createElement("li");
    const picture = document.createElement("img");
    picture.src = image.url;
    picture.alt = image.name;
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "quiet";
    remove.textContent = "×";
    remove.setAttribute("aria-label", `Remove ${image.name}`);
    remove.addEventListener("click", () => {
      images = images.filter((each) => each !== image);
      render();
    });
    made.append(picture, remove);
    return made;
  }

  async function add(files) {
    for (const file of files) {
      if (images.length >= MAX_IMAGES) return onProblem(`A message takes at most ${MAX_IMAGES} images.`);
      if (!TYPES.includes(file.type)) return onProblem(`${file.name} is not a PNG, JPEG, WebP or GIF image.`);
      if (file.size > MAX_BYTES) return onProblem(`${file.name} is larger than 5 MB.`);
      images.push({ name: file.name, url: await dataUrl(file) });
    }
    render();
  }

  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    void add([...input.files]);
    input.value = "";
  });

  return {
    add,
    /** Images of the message that is being sent. */
    take() {
      const taken = images;
      images = [];
      render();
      return taken;
    },
    get count() {
      return images.length;
    },
  };
}

function dataUrl(file) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const reader = new FileReader();
  reader.addEventListener("load", () => resolve(reader.result));
  reader.addEventListener("error", () => reject(reader.error));
  reader.readAsDataURL(file);
  return promise;
}
