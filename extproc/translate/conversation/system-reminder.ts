/**
 * A system message among the turns, as text of the user: coding agents mark their own reminders this way, and models know the
 * mark.
 */
export function systemReminder(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`;
}
