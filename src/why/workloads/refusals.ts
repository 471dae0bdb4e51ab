// Why the API server refuses the pods (or other objects) that a controller makes, by the text of the refusal.

import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Cluster, EventFact} from '#src/why/facts/cluster.js';
import {newest} from '#src/why/facts/cluster.js';
import type {Finding} from '#src/why/facts/finding.js';
import {reference, referenceTo, type Reference} from '#src/why/facts/reference.js';

/** Where a refusal was read. */
export interface Refusal {
  readonly message: string;
  readonly since: string | undefined;
  readonly namespace: string;
}

type Reading = (found: RegExpExecArray, refusal: Refusal, cluster: Cluster) => Omit<Finding, 'since'> | Promise<Omit<Finding, 'since'>>;

/** Returns the configuration with a webhook of this name. */
const configurationOf = async (webhook: string, cluster: Cluster): Promise<Reference | undefined> => {
  for (const kind of [kinds.mutatingWebhookConfigurations, kinds.validatingWebhookConfigurations]) {
    const configurations = await cluster.list<ObjectOf<typeof kinds.validatingWebhookConfigurations>>(kind);
    const found = configurations.find(({webhooks = []}) => webhooks.some(({name}) => name === webhook));
    if (found) return referenceTo(kind, found);
  }
  return undefined;
};

const readings: readonly (readonly [RegExp, Reading])[] = [
  [
    /exceeded quota: ([^,]+), requested: (.*?), used: (.*?), limited: (.*)$/,
    ([, quota = '', requested, used, limited], {namespace}) => ({
      rule: 'quota',
      sentence: `the resource quota ${quota} refuses its pods: ${requested} is asked for, ${used} is used, and the limit is ${limited}`,
      ends: `A higher quota ${quota}, or the end of other objects in the namespace ${namespace}.`,
      next: reference(kinds.resourceQuotas, quota, namespace),
    }),
  ],
  [
    /failed quota: ([^:]+): must specify (.*)$/,
    ([, quota, missing]) => ({
      rule: 'quota',
      sentence: `the resource quota ${quota} refuses its pods, as their containers do not specify ${missing}`,
      ends: 'These fields in its template, or a LimitRange with defaults for them.',
    }),
  ],
  [
    /failed calling webhook "([^"]+)": (.*)$/s,
    async ([, webhook = '', why], _, cluster) => ({
      rule: 'webhook-call',
      sentence: `the webhook ${webhook} cannot be called, without which its pods are refused: ${why}`,
      ends: `The server of the webhook, once it answers, or another failurePolicy of the webhook.`,
      next: await configurationOf(webhook, cluster),
    }),
  ],
  [
    /admission webhook "([^"]+)" denied the request:? ?(.*)$/s,
    ([, webhook, why]) => ({
      rule: 'webhook-denial',
      sentence: `the webhook ${webhook} refuses its pods: ${why || 'without a reason'}`,
      ends: 'Pods that the webhook accepts.',
    }),
  ],
  [
    /ValidatingAdmissionPolicy '([^']+)'.*? denied request: (.*)$/s,
    ([, policy, why]) => ({
      rule: 'admission-policy',
      sentence: `the admission policy ${policy} refuses its pods: ${why}`,
      ends: 'Pods that the policy accepts, or another policy or binding.',
    }),
  ],
  [
    /violates PodSecurity "([^"]+)": (.*)$/s,
    ([, level, why], {namespace}) => ({
      rule: 'pod-security',
      sentence: `the namespace ${namespace} admits pods of the level ${level} only: ${why}`,
      ends: 'A securityContext in its template that keeps to the level, or another level in the labels of the namespace.',
    }),
  ],
  [
    /error looking up service account ([^/]+)\/([^:]+): .* not found/,
    ([, namespace, name]) => ({
      rule: 'service-account',
      sentence: `its pods run as the service account ${name}, which does not exist`,
      ends: `The creation of the service account ${name} in the namespace ${namespace}.`,
    }),
  ],
  [
    /((?:maximum|minimum) .* usage per .*)$/,
    ([, why]) => ({
      rule: 'limit-range',
      sentence: `a limit range of its namespace refuses its pods: ${why}`,
      ends: 'Resources in its template within the limits.',
    }),
  ],
  [
    /no PriorityClass with name (\S+) was found/,
    ([, name]) => ({
      rule: 'priority-class',
      sentence: `its pods are of the priority class ${name}, which does not exist`,
      ends: `The creation of the priority class ${name}.`,
    }),
  ],
];

/** Returns what a refusal says. */
export const refusalFinding = async (refusal: Refusal, cluster: Cluster): Promise<Finding> => {
  const {message, since} = refusal;
  for (const [pattern, reading] of readings) {
    const found = pattern.exec(message);
    if (found) return {...(await reading(found, refusal, cluster)), since};
  }
  return {
    rule: 'creation-refused',
    sentence: `its pods cannot be created: ${message.replace(/^Error creating: /, '')}`,
    since,
    ends: 'What the message asks for; its controller tries again by itself.',
  };
};

/** Returns the failure to create something that was not followed by a success. */
export const failedCreation = (events: readonly EventFact[]): EventFact | undefined => {
  const [failure, success] = [newest(events, 'FailedCreate'), newest(events, 'SuccessfulCreate')];
  return failure && (!success || Date.parse(failure.last) >= Date.parse(success.last)) ? failure : undefined;
};
