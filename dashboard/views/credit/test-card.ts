import { html } from "ghtml";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";

export function testCardPage(visitor: Member): string {
  const body = html`<h1>Add a card</h1>
    <form method="post" action="/dashboard/credit/test-card" class="card stack">
      !${csrfField(visitor.csrf)}
      <p>Test mode: there is no card and no money moves, but the credit can be spent here.</p>
      <div class="buttons">
        <button class="primary" name="card" value="works">Use a card that works</button>
        <button name="card" value="declines">Use a card that is declined</button>
        <a class="button quiet" href="/dashboard/credit">Cancel</a>
      </div>
    </form>`;
  return layout({ title: "Add a card", visitor, path: "/dashboard/credit", body, isNarrow: true });
}
