import { html } from "ghtml";
import {
  ACCOUNT_SORTS,
  type AccountPosition,
  type AccountSort,
  type ListedAccount,
} from "../../../ledger/accounts/account-list.ts";
import type { Member } from "../../session/visitor.ts";
import { empty } from "../empty.ts";
import { usd } from "../figures.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { moment } from "../time.ts";
import { olderLink } from "../older-link.ts";
import { adminPage } from "./admin.ts";

export interface AdminAccountsView {
  visitor: Member;
  accounts: readonly ListedAccount[];
  search: string;
  sort: AccountSort;
  next: AccountPosition | null;
}

const PATH = "/dashboard/admin";
const SORTS: Record<AccountSort, string> = {
  active: "Recently active",
  name: "Name",
  spend: "Highest spend, 30 days",
  balance: "Highest balance",
  lowest_balance: "Lowest balance",
  newest: "Newest",
};

export function adminAccountsPage({ visitor, accounts, search, sort, next }: AdminAccountsView): string {
  const kept: Record<string, string> = { ...(search === "" ? {} : { search }), ...(sort === "active" ? {} : { sort }) };
  const options = ACCOUNT_SORTS.map(
    (each) => html`<option value="${each}" !${each === sort ? "selected" : ""}>${SORTS[each]}</option>`,
  );
  const body = html`<h1>Accounts</h1>
    <form method="get" action="${PATH}" class="filters" role="search">
      <label
        ><span class="hidden">Account ID, name, or email address of a member</span
        ><input type="search" name="search" value="${search}" placeholder="Account ID, name or email"
      /></label>
      <label
        ><span class="hidden">Sort by</span
        ><select name="sort">
          !${options.join("")}
        </select></label
      >
      <button>Apply</button>
      !${search === "" ? "" : html`<a href="${PATH}">Clear search</a>`}
    </form>
    !${accounts.length === 0 ? empty("No matching accounts") : table(accounts)}
    !${next === null ? "" : olderLink(PATH, { ...kept, after: `${next.rank}.${next.id}` }, "More accounts")}`;
  return adminPage({ title: "Accounts", visitor, path: PATH, body });
}

function table(accounts: readonly ListedAccount[]): string {
  return responsiveTable(
    [
      "Account",
      "Status",
      { text: "Created", isMinor: true },
      "Last used",
      { number: "Balance" },
      { number: "Members", isMinor: true },
      { number: "Keys", isMinor: true },
      { number: "Spend, 30 days" },
    ],
    accounts.map(row),
    "widest",
  );
}

function row(account: ListedAccount): string {
  return html`<tr>
    <th scope="row" data-label="Account">
      <span
        ><a href="${PATH}/accounts/${account.id}">!${clipped(account.name)}</a
        ><span class="sub">!${clipped(account.id)}</span></span
      >
    </th>
    <td data-label="Status"><span class="badge ${account.status}">${account.status}</span></td>
    <td data-label="Created" class="minor">!${moment(account.createdAt)}</td>
    <td data-label="Last used">!${account.lastUsedAt === null ? "Never" : moment(account.lastUsedAt)}</td>
    <td data-label="Balance" class="number">
      <span
        >!${usd(account.postedNanoUsd)}!${account.leasedNanoUsd === 0n ? "" : html`<span class="sub">!${usd(account.leasedNanoUsd)} held</span>`}</span
      >
    </td>
    <td data-label="Members" class="number minor">${account.members.toLocaleString("en-US")}</td>
    <td data-label="Keys" class="number minor">${account.keys.toLocaleString("en-US")}</td>
    <td data-label="Spend, 30 days" class="number">!${usd(account.spentNanoUsd)}</td>
  </tr>`;
}
