import { expect, test } from "vitest";
import { readPatch } from "../../../../../dashboard/api/scim/patch.ts";
import { parseFilter } from "../../../../../dashboard/api/scim/filter.ts";
import { select } from "../../../../../dashboard/api/scim/selection.ts";

/** As Okta, Entra ID and others send it (S56). */
const SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";

test.for([
  ["Entra ID removes", [{ op: "Replace", path: "active", value: "False" }], { isActive: false }],
  ["Okta removes", [{ op: "replace", value: { active: false } }], { isActive: false }],
  [
    "Entra ID renames",
    [
      { op: "Add", path: "name.givenName", value: "Ann" },
      { op: "Replace", path: "name.familyName", value: "Beispiel" },
      { op: "Add", path: 'addresses[type eq "work"].formatted', value: "ignored" },
      { op: "Add", path: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", value: "ignored" },
    ],
    { givenName: "Ann", familyName: "Beispiel" },
  ],
  [
    "paths as members",
    [{ op: "add", value: { "name.givenName": "A", "name.familyName": "B", externalId: "7" } }],
    { givenName: "A", familyName: "B", externalId: "7" },
  ],
  [
    "the schema in the path",
    [{ op: "replace", path: `${SCHEMA}:userName`, value: " ann@example.com " }],
    { userName: "ann@example.com" },
  ],
  [
    "an address of a type",
    [{ op: "replace", path: 'emails[type eq "work"].value', value: "a@b.example" }],
    { email: "a@b.example" },
  ],
  [
    "the primary of several",
    [{ op: "replace", path: "emails", value: [{ value: "a@b.example" }, { value: "c@d.example", primary: "True" }] }],
    { email: "c@d.example" },
  ],
  ["a name of no text", [{ op: "replace", path: "displayName", value: "" }], { displayName: null }],
  [
    "what is removed",
    [
      { op: "remove", path: "name" },
      { op: "Remove", path: "externalId" },
      { op: "remove", path: "title" },
    ],
    { givenName: null, familyName: null, externalId: null },
  ],
  [
    "the last of several",
    [
      { op: "replace", path: "active", value: false },
      { op: "replace", path: "active", value: true },
    ],
    { isActive: true },
  ],
] as const)("%s (S56)", ([, Operations, change]) => {
  expect(readPatch({ schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations })).toEqual(change);
});

test.for(["userName", "active", "emails", "roles.value"])("%s cannot be removed (S56)", (path) => {
  expect(() => readPatch({ Operations: [{ op: "remove", path }] })).toThrow(
    `${path.toLowerCase()} is required, and can only be replaced.`,
  );
});

test("a filter compares one attribute with a text, whatever the case of its words (S56)", () => {
  expect(parseFilter(' USERNAME EQ "a\\"b@example.com" ')).toEqual({ by: "userName", value: 'a"b@example.com' });
  expect(parseFilter('externalId eq "7"')).toEqual({ by: "externalId", value: "7" });
  for (const filter of [
    "",
    "userName",
    'userName co "a"',
    'userName eq "a" and active eq true',
    'title eq "a"',
    'userName eq "\\u0000"',
    "userName eq 'a'",
  ])
    expect(() => parseFilter(filter)).toThrow("Only filters such as");
});

test("an answer has the attributes that were selected, and always its id (S56)", () => {
  const user = {
    schemas: [SCHEMA],
    id: "1",
    userName: "ann",
    name: { givenName: "A", familyName: "B" },
    emails: [{ value: "a@b", type: "work" }],
  };
  expect(select(user, { attributes: ["USERNAME", `${SCHEMA}:name.givenName`, "emails.value"] })).toEqual({
    schemas: [SCHEMA],
    id: "1",
    userName: "ann",
    name: { givenName: "A" },
    emails: [{ value: "a@b" }],
  });
  expect(select(user, { excludedAttributes: ["id", "name.familyName", "emails"] })).toEqual({
    schemas: [SCHEMA],
    id: "1",
    userName: "ann",
    name: { givenName: "A" },
  });
});
