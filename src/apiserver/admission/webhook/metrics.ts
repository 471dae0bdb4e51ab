import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {conditionMetrics} from '#src/apiserver/admission/expressions/condition-metrics.js';
import {CallFailed, Denied} from './outcome.js';

/** The metric label of the phase. */
export type HookType = 'admit' | 'validating';

/** Higher codes share one label value, so that a webhook cannot create arbitrarily many series. */
const highestCode = 600;
const known = (code: number): string => String(Math.min(code, highestCode));

/** The metrics of webhooks. */
export interface WebhookMetrics {
  /** Records the result of a call; `error` is the refusal or failure. */
  called(hook: {readonly name: string; readonly failsOpen: boolean}, operation: string, startedAt: number, error?: unknown): void;
  failedOpen(name: string): void;
  excluded(name: string, operation: string): void;
  conditionFailed(name: string, operation: string): void;
  conditionsEvaluated(name: string, operation: string, startedAt: number): void;
}

export const webhookMetrics = (meter: Meter, clock: Clock, type: HookType): WebhookMetrics => {
  const prefix = 'apiserver_admission';
  const durations = meter.histogram({
    name: `${prefix}_webhook_admission_duration_seconds`,
    help: 'How long admission webhooks took, in seconds, by name, operation and phase.',
    labels: ['name', 'type', 'operation', 'rejected'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
  });
  const requests = meter.counter({
    name: `${prefix}_webhook_request_total`,
    help: 'Requests that admission webhooks were asked about, by name, operation, phase, the code that came of it and whether it was a refusal.',
    labels: ['name', 'type', 'operation', 'code', 'rejected'],
  });
  const rejections = meter.counter({
    name: `${prefix}_webhook_rejection_count`,
    help: 'Requests refused because of admission webhooks, by name, operation, phase, and whose fault that was.',
    labels: ['name', 'type', 'operation', 'error_type', 'rejection_code'],
  });
  const opened = meter.counter({
    name: `${prefix}_webhook_fail_open_count`,
    help: 'Requests that went on although an admission webhook could not be asked, by name and phase.',
    labels: ['name', 'type'],
  });
  const conditions = conditionMetrics(meter, clock, {kind: 'webhook', type});
  const sinceMs = (startedAt: number): number => (clock.monotonic() - startedAt) / 1000;
  return {
    called({name, failsOpen}, operation, startedAt, error) {
      const {code, fault, isRejected, isCounted} = resultOf(error, failsOpen);
      if (isRejected && isCounted) rejections.add({name, type, operation, error_type: fault, rejection_code: known(code)});
      requests.add({name, type, operation, code: known(code), rejected: String(isRejected)});
      durations.observe(sinceMs(startedAt), {name, type, operation, rejected: String(isRejected)});
    },
    failedOpen: name => opened.add({name, type}),
    excluded: conditions.excluded,
    conditionFailed: conditions.failed,
    conditionsEvaluated: conditions.evaluated,
  };
};

interface Result {
  readonly code: number;
  readonly fault: 'calling_webhook_error' | 'no_error' | 'apiserver_internal_error';
  readonly isRejected: boolean;
  readonly isCounted: boolean;
}

const resultOf = (error: unknown, failsOpen: boolean): Result => {
  if (error === undefined) return {code: 200, fault: 'no_error', isRejected: false, isCounted: false};
  if (error instanceof CallFailed)
    return {code: error.code, fault: 'calling_webhook_error', isRejected: !failsOpen, isCounted: !error.isCanceled};
  if (error instanceof Denied) return {code: error.refusal.code, fault: 'no_error', isRejected: true, isCounted: true};
  return {code: 0, fault: 'apiserver_internal_error', isRejected: true, isCounted: true};
};
