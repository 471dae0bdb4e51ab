import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';

/** The cause of a failed conversion. */
export type ConversionFault = 'call' | 'malformed_response' | 'partial_response' | 'invalid_converted_object';

/** The metrics of conversion webhooks. */
export interface ConversionMetrics {
  /** Records the result of a webhook call. */
  called(startedAt: number, fault?: ConversionFault): void;
  /** Records the conversion of objects of a definition from one version to another. */
  converted(definition: string, from: string, to: string, startedAt: number, succeeded: boolean): void;
}

const labels = ['result', 'failure_type'];

export const conversionMetrics = (meter: Meter, clock: Clock): ConversionMetrics => {
  const requests = meter.counter({
    name: 'apiserver_conversion_webhook_request_total',
    help: 'Conversions that webhooks were asked for, by whether they succeeded and what failed.',
    labels,
  });
  const durations = meter.histogram({
    name: 'apiserver_conversion_webhook_duration_seconds',
    help: 'How long webhooks took to convert objects, in seconds.',
    labels,
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60],
  });
  const byDefinition = meter.histogram({
    name: 'apiserver_crd_conversion_webhook_duration_seconds',
    help: 'How long the conversion of custom objects by webhooks took, in seconds, by definition and versions.',
    labels: ['crd_name', 'from_version', 'to_version', 'succeeded'],
    buckets: Array.from({length: 15}, (_, power) => 0.001 * 2 ** power),
  });
  const since = (startedAt: number): number => (clock.monotonic() - startedAt) / 1000;
  return {
    called(startedAt, fault) {
      const result = {result: fault ? 'failure' : 'success', failure_type: fault ? `conversion_webhook_${fault}_failure` : ''};
      requests.add(result);
      durations.observe(since(startedAt), result);
    },
    converted(definition, from, to, startedAt, succeeded) {
      if (from !== to)
        byDefinition.observe(since(startedAt), {crd_name: definition, from_version: from, to_version: to, succeeded: String(succeeded)});
    },
  };
};
