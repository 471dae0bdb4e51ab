import type {CoreEvent} from '#src/api/types.js';

/** The labels under which events are selected, by the name their object goes by in a version. */
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
