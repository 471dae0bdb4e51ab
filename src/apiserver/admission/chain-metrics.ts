import type {Histogram, Meter} from '#src/base/meter.js';
import type {Phase} from './admission.js';
import type {Operation} from './handles.js';

/** The series of accepted and refused requests, in seconds. */
export interface Durations {
  readonly accepted: ReturnType<Histogram['at']>;
  readonly refused: ReturnType<Histogram['at']>;
}

/** The metrics of plugins and of the two phases. */
export interface AdmissionMetrics {
  ofPlugin(name: string, phase: Phase, operation: Operation): Durations;
  ofPhase(phase: Phase, operation: Operation): Durations;
}

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

export const admissionMetrics = (meter: Meter): AdmissionMetrics => {
  const plugins = meter.histogram({
    name: 'apiserver_admission_controller_admission_duration_seconds',
    help: 'How long admission plugins took, in seconds, by name, operation and phase.',
    labels: ['name', 'operation', 'rejected', 'type'],
    buckets,
  });
  const phases = meter.histogram({
    name: 'apiserver_admission_step_admission_duration_seconds',
    help: 'How long the two phases of admission took, in seconds, by operation.',
    labels: ['operation', 'rejected', 'type'],
    buckets,
  });
  const at = (histogram: Histogram, labels: Readonly<Record<string, string>>): Durations => ({
    accepted: histogram.at({...labels, rejected: 'false'}),
    refused: histogram.at({...labels, rejected: 'true'}),
  });
  return {
    ofPlugin: (name, type, operation) => at(plugins, {name, type, operation}),
    ofPhase: (type, operation) => at(phases, {type, operation}),
  };
};
