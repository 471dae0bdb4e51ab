import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import type {Criteria} from '#src/apiserver/admission/matching/match.js';
import type {WebhookLocation} from '#src/apiserver/backends/webhook-caller.js';
import type {Webhook} from '#src/resources/admissionregistration/types.js';

/** A match condition of a webhook in CEL. */
export interface Condition {
  readonly name: string;
  readonly expression: string;
}

/** A webhook of a configuration, prepared for calls. */
export interface Hook {
  /** Unique, also among webhooks of the same name. */
  readonly uid: string;
  readonly name: string;
  readonly configuration: string;
  readonly criteria: Criteria;
  readonly conditions: readonly Condition[];
  readonly location: WebhookLocation;
  readonly timeoutMs: number | undefined;
  /** Whether requests are admitted when the call fails. */
  readonly failsOpen: boolean;
  /** Whether it may be called on a dry run; undefined if that is not specified. */
  readonly isHarmless: boolean | undefined;
  readonly reviewVersions: readonly string[];
  /** Whether it is called again when later plugins changed the object. */
  readonly isReinvoked: boolean;
}

/** A configuration of either kind. */
export type Configuration = KubeObject & {readonly webhooks?: readonly Webhook[]};

const hookOf = (webhook: Webhook, configuration: string, uid: string): Hook => ({
  uid,
  name: webhook.name,
  configuration,
  criteria: {
    rules: webhook.rules ?? [],
    matchPolicy: webhook.matchPolicy,
    namespaceSelector: labelSelectorOf(webhook.namespaceSelector as LabelSelectorObject | undefined),
    objectSelector: labelSelectorOf(webhook.objectSelector as LabelSelectorObject | undefined),
  },
  conditions: webhook.matchConditions ?? [],
  location: webhook.clientConfig,
  timeoutMs: webhook.timeoutSeconds === undefined ? undefined : webhook.timeoutSeconds * 1000,
  failsOpen: webhook.failurePolicy === 'Ignore',
  isHarmless: webhook.sideEffects === undefined ? undefined : webhook.sideEffects === 'None' || webhook.sideEffects === 'NoneOnDryRun',
  reviewVersions: webhook.admissionReviewVersions ?? [],
  isReinvoked: webhook.reinvocationPolicy === 'IfNeeded',
});

/** Returns the webhooks of a configuration in their order. */
export const hooksOf = ({metadata, webhooks = []}: Configuration): readonly Hook[] => {
  const configuration = metadata?.name ?? '';
  const counts = new Map<string, number>();
  return webhooks.map(webhook => {
    const count = counts.get(webhook.name) ?? 0;
    counts.set(webhook.name, count + 1);
    return hookOf(webhook, configuration, `${configuration}/${webhook.name}/${count}`);
  });
};
