import { html } from "ghtml";
import type { Member } from "../../session/visitor.ts";
import { csrfField, layout } from "../layout.ts";

export function testCardPage(visitor: Member): string {
  const body = html`<h1>Save a card</h1>
    <form method="post" action="/dashboard/credit/test-card" class="card stack">
      !${csrfField(visitor.csrf)}
      <p>This is a test: there is no card and no money moves, but the credit counts here as any other.</p>
      <div class="buttons">
        <button class="primary" name="card" value="works">A card that works</button>
        <button name="card" value="declines">A card that is declined</button>
        <a class="button quiet" href="/dashboard/credit">Save none</a>
      </div>
    </form>`;
  return layout({ title: "Save a card", visitor, path: "/dashboard/credit", body, isNarrow: true });
}
