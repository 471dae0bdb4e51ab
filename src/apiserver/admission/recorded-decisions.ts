import type {AdmissionReport, FlightRecorder} from '#src/observe/flight-recorder.js';
import type {AdmissionAttributes, Phase} from './admission.js';

/** What a plugin decided. */
type Decided = Pick<AdmissionReport, 'decision' | 'by' | 'fields' | 'reason'>;

/** Reports to the flight recorder what a plugin decided about a request. */
export const reportDecision = (
  recorder: FlightRecorder,
  {group, resource, subresource, namespace, name, object, oldObject, operation, user, dryRun, original}: AdmissionAttributes,
  {plugin, phase}: {readonly plugin: string; readonly phase: Phase},
  decided: Decided,
): void =>
  recorder.admission({
    object: {group, resource, namespace: namespace || undefined, name: name || undefined, uid: (object ?? oldObject)?.metadata?.uid},
    ...(subresource ? {subresource} : {}),
    operation,
    plugin,
    phase,
    ...decided,
    user: user.name,
    ...(dryRun ? {dryRun} : {}),
    ...(original?.auditId === undefined ? {} : {request: original.auditId}),
  });

/** Warns the client on behalf of the plugin that is called, which is recorded. */
export const warned = (attributes: AdmissionAttributes, text: string): void => {
  attributes.notes?.noteDecision({decision: 'warned', reason: text});
  attributes.warn(text);
};
