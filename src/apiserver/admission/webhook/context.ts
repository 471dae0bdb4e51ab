import type {Kind} from '#src/api/kind.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {WebhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import type {HookCallContext} from './call.js';
import type {EvaluateConditions} from './conditions.js';
import {webhookMetrics, type HookType} from './metrics.js';
import type {HookSource} from './hook-source.js';
import type {SelectionContext} from './selection.js';

/** The context of webhooks of either kind. */
export interface HookContext extends HookCallContext, SelectionContext {
  readonly source: HookSource;
  readonly log: Log;
}

/** The server's dependencies of webhook admission. */
export interface HookParts {
  readonly registry: Pick<Registry, 'find' | 'served'>;
  callerFor(type: HookType): WebhookCaller;
  readonly log: Log;
  readonly meter: Meter;
  readonly evaluateConditions: EvaluateConditions;
  /** The webhooks of a kind of configuration. */
  sourceOf(kind: Kind): HookSource;
}

/** Creates the context of one of the two plugins. */
export const hookContext = (
  kind: Kind,
  type: HookType,
  {
    naming,
    clock,
    random,
    findNamespace,
    webhooks,
  }: Pick<HookCallContext, 'naming' | 'clock' | 'random'> & Pick<SelectionContext, 'findNamespace'> & {readonly webhooks: HookParts},
): HookContext => {
  const {sourceOf, callerFor, meter, ...parts} = webhooks;
  return {
    ...parts,
    naming,
    clock,
    random,
    findNamespace,
    source: sourceOf(kind),
    caller: callerFor(type),
    metrics: webhookMetrics(meter, clock, type),
  };
};
