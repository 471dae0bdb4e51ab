import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {dnsSubdomainProblems, labelKeyProblems} from '#src/api/names.js';
import type {CoreEvent} from '#src/api/types.js';
import type {HookContext} from '#src/resources/definition.js';

const longest = {reportingInstance: 128, action: 128, reason: 128, message: 1024} as const;

function* validateLength(event: Readonly<CoreEvent>, field: keyof typeof longest): Iterable<FieldError> {
  const value = event[field] ?? '';
  if (!value && field !== 'message') yield required(field);
  if (Buffer.byteLength(value) > longest[field]) yield invalid(field, '', `can have at most ${longest[field]} characters`);
}

/** Validates the fields of new-style events: reporter, time and action. */
function* validateReported(event: Readonly<CoreEvent>, reporterPath: string): Iterable<FieldError> {
  const reporter = event.reportingComponent ?? '';
  if (!reporter) yield required(reporterPath);
  for (const problem of labelKeyProblems(reporter)) yield invalid(reporterPath, reporter, problem);
  for (const field of ['reportingInstance', 'action', 'reason', 'message'] as const) yield* validateLength(event, field);
}

/**
 * Validates an event of either group. Events with an `eventTime` have more rules than legacy ones; an event is in the
 * namespace of its involved object, or in `default`.
 */
export function* validateEvent(
  event: Readonly<CoreEvent>,
  _old: Readonly<CoreEvent> | undefined,
  {naming, served}: HookContext,
): Iterable<FieldError> {
  const namespace = event.metadata?.namespace ?? '';
  const about = event.involvedObject?.namespace ?? '';
  const forClusterScoped = ['default', event.eventTime ? naming.systemNamespace : ''];
  const fits = about ? Boolean(event.eventTime) || about === namespace : forClusterScoped.includes(namespace);
  if (!fits) yield invalid('involvedObject.namespace', about, 'does not match event.namespace');
  if (event.eventTime) yield* validateReported(event, served.group === kinds.events.group ? 'reportingController' : 'reportingComponent');
  for (const problem of dnsSubdomainProblems(namespace)) yield invalid('namespace', namespace, problem);
}
