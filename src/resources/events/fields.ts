import type {CoreEvent} from '#src/api/types.js';

/**
 * Returns the selectable fields of events; the involved object and the reporter are named differently in the two
 * versions.
 */
export const eventFields = (about: string, reporter: string): Readonly<Record<string, (event: Readonly<CoreEvent>) => string>> => ({
  ...Object.fromEntries(
    (['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const).map(field => [
      `${about}.${field}`,
      (event: Readonly<CoreEvent>) => event.involvedObject?.[field] ?? '',
    ]),
  ),
  reason: ({reason}) => reason ?? '',
  [reporter]: ({reportingComponent}) => reportingComponent ?? '',
  type: ({type}) => type ?? '',
});
