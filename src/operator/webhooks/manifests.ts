import {apiVersionOf, kinds, type Kind} from '#src/api/kinds/index.js';
import {naming as namingOf, type Naming} from '#src/api/naming.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject} from '#src/api/types.js';
import {pathOf, type AdmissionWebhook, type Webhook} from './admission.js';

/** The address of the webhooks for the API server: a Service, or a URL. */
export type WebhookAddress =
  | {readonly service: {readonly namespace: string; readonly name: string; readonly port?: number}}
  | {readonly url: string};

/** The options of webhook configurations. */
export type WebhookConfigurationOptions = WebhookAddress & {
  /** The name of the configurations. */
  readonly name: string;
  /** The webhooks; conversions are configured in the definition of their kind instead. */
  readonly handlers: readonly Webhook[];
  /** The failure policy of webhooks without one of their own. Default `Fail`. */
  readonly failurePolicy?: 'Fail' | 'Ignore';
  /** The timeout of webhooks without one of their own. Default 10. */
  readonly timeoutSeconds?: number;
  /**
   * The namespace that the webhooks are served from, which those of Pods, Namespaces and `AnyKind` leave out. Default:
   * that of the Service.
   */
  readonly namespace?: string;
  /** The naming of the cluster. Default: that of Kubernetes. */
  readonly naming?: Naming;
};

/**
 * Returns webhook configurations to apply: a MutatingWebhookConfiguration for defaulting webhooks and a
 * ValidatingWebhookConfiguration for validating ones, if there are any. A manager with `configurations: [name]` keeps
 * their `caBundle` up to date.
 */
export const webhookConfigurations = (options: WebhookConfigurationOptions): KubeObject[] => {
  const {name, handlers, naming = namingOf('kubernetes')} = options;
  const configured = (type: Webhook['type']) =>
    handlers.filter((each): each is AdmissionWebhook => each.type === type).map(webhook => configuredWebhook(webhook, options, naming));
  const configuration = (kind: Kind, webhooks: readonly {readonly name: string}[]) => {
    const names = webhooks.map(webhook => webhook.name);
    const twice = names.find((each, at) => names.indexOf(each) !== at);
    if (twice !== undefined) throw new TypeError(`there are two webhooks named ${twice}: give one of them the option name`);
    return webhooks.length > 0 ? [{apiVersion: apiVersionOf(naming, kind), kind: kind.kind, metadata: {name}, webhooks}] : [];
  };
  return [
    ...configuration(kinds.mutatingWebhookConfigurations as Kind, configured('defaulting')),
    ...configuration(kinds.validatingWebhookConfigurations as Kind, configured('validating')),
  ];
};

const configuredWebhook = (webhook: AdmissionWebhook, options: WebhookConfigurationOptions, naming: Naming) => {
  const {kind, subresource, type, matching} = webhook;
  const {objectSelector, matchConditions, matchPolicy, reinvocationPolicy, sideEffects = 'None'} = matching;
  const namespaceSelector = matching.namespaceSelector ?? selectorOfNeeded(kind, options, naming);
  const isAny = kind.plural === '*';
  return {
    name: nameOf(webhook, options.name, naming),
    clientConfig: clientConfigOf(options, pathOf(webhook, naming)),
    rules: [
      {
        operations: matching.operations,
        apiGroups: [isAny ? '*' : naming.group(kind.group)],
        apiVersions: [kind.version],
        resources: [subresource ? `${kind.plural}/${subresource}` : kind.plural],
      },
    ],
    ...(namespaceSelector ? {namespaceSelector} : {}),
    ...(objectSelector ? {objectSelector} : {}),
    ...(matchConditions ? {matchConditions} : {}),
    ...(matchPolicy ? {matchPolicy} : {}),
    ...(type === 'defaulting' && reinvocationPolicy ? {reinvocationPolicy} : {}),
    failurePolicy: matching.failurePolicy ?? options.failurePolicy ?? 'Fail',
    timeoutSeconds: matching.timeoutSeconds ?? options.timeoutSeconds ?? 10,
    sideEffects,
    admissionReviewVersions: ['v1'],
  };
};

/** Returns the name of a webhook, which is unique in its configuration: `eviction.pods.backups.validating.core`. */
const nameOf = ({kind, subresource, type, matching}: AdmissionWebhook, name: string, naming: Naming): string => {
  const word = (part: string): string => (part === '*' ? 'any' : part);
  const own = [matching.name, subresource, kind.plural].filter(part => part !== undefined && part !== '').map(part => word(part!));
  return [...own, name, type, word(naming.group(kind.group)) || 'core'].join('.');
};

/**
 * Returns the selector that leaves out the namespaces which the webhooks need to come up; undefined for kinds that do
 * not matter for that. Without it, webhooks that are down would deny the pods that serve them, and those of the system.
 */
const selectorOfNeeded = (kind: Kind, options: WebhookConfigurationOptions, naming: Naming): LabelSelectorObject | undefined => {
  const isAny = kind.plural === '*';
  if (!isAny && !(kind.group === '' && ['pods', 'namespaces'].includes(kind.plural))) return undefined;
  const own = options.namespace ?? ('service' in options ? options.service.namespace : undefined);
  // Node leases are renewed there: nodes would be lost.
  const needed = [naming.systemNamespace, ...(isAny ? [naming.nodeLeaseNamespace] : []), ...(own === undefined ? [] : [own])];
  return {matchExpressions: [{key: naming.labels.metadataName, operator: 'NotIn', values: [...new Set(needed)]}]};
};

const clientConfigOf = (address: WebhookAddress, path: string) =>
  'url' in address ? {url: `${address.url.replace(/\/$/, '')}${path}`} : {service: {port: 443, ...address.service, path}};
