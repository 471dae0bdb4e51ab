import type {Meter} from '#src/base/meter.js';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const conditionBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const byResult = ['name', 'result'];
const byAuthorizer = ['type', 'name'];

/** The metrics of all authorization webhooks of a server. */
export const webhookMetrics = (meter: Meter) => ({
  evaluations: meter.counter({
    name: 'apiserver_authorization_webhook_evaluations_total',
    help: 'Round-trips to authorization webhooks.',
    labels: byResult,
  }),
  durations: meter.histogram({
    name: 'apiserver_authorization_webhook_duration_seconds',
    help: 'Request latency in seconds.',
    labels: byResult,
    buckets,
  }),
  failedOpen: meter.counter({
    name: 'apiserver_authorization_webhook_evaluations_fail_open_total',
    help: 'NoOpinion results due to webhook timeout or error.',
    labels: byResult,
  }),
  conditionErrors: meter.counter({
    name: 'apiserver_authorization_match_condition_evaluation_errors_total',
    help: 'Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.',
    labels: byAuthorizer,
  }),
  conditionExclusions: meter.counter({
    name: 'apiserver_authorization_match_condition_exclusions_total',
    help: 'Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.',
    labels: byAuthorizer,
  }),
  conditionSeconds: meter.histogram({
    name: 'apiserver_authorization_match_condition_evaluation_seconds',
    help: 'Authorization match condition evaluation time in seconds, split by authorizer type and name.',
    labels: byAuthorizer,
    buckets: conditionBuckets,
  }),
});

export type WebhookMetrics = ReturnType<typeof webhookMetrics>;
