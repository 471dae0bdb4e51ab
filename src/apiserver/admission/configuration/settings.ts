import type {Naming} from '#src/api/naming.js';
import {combinedMessage} from '#src/apiserver/admission/request-kind.js';
import type {EventLimit} from '#src/apiserver/admission/event-rate-limit.js';
import type {ImagePolicySettings} from '#src/apiserver/admission/pods/image-policy.js';
import type {NodeSelectors} from '#src/apiserver/admission/pods/pod-node-selector.js';
import type {PodSecuritySettings} from '#src/apiserver/admission/pod-security/settings.js';
import type {TolerationSettings} from '#src/apiserver/admission/pods/pod-toleration-restriction.js';
import {readEventLimits} from './event-rate-limit.js';
import {readImagePolicy} from './image-policy.js';
import type {PluginTexts} from './file.js';
import {readNodeSelectors} from './pod-node-selector.js';
import {readPodSecurity} from './pod-security.js';
import {readTolerations} from './pod-toleration-restriction.js';
import type {Read} from './read.js';
import {readLimitedResources, type LimitedResource} from './resource-quota.js';
import {readWebhookAdmission, type WebhookAdmission} from './webhook-admission.js';

/** The configuration of plugins; absent for those without one. */
export interface PluginSettings {
  readonly eventLimits?: readonly EventLimit[] | undefined;
  readonly podSecurity?: PodSecuritySettings | undefined;
  readonly nodeSelectors?: NodeSelectors | undefined;
  readonly tolerations?: TolerationSettings | undefined;
  /** Resources that may only be used where a quota covers them. */
  readonly limitedResources?: readonly LimitedResource[] | undefined;
  readonly imagePolicy?: ImagePolicySettings | undefined;
  readonly mutatingWebhooks?: WebhookAdmission | undefined;
  readonly validatingWebhooks?: WebhookAdmission | undefined;
}

/** The plugins that have a configuration. */
export const configurablePlugins: ReadonlySet<string> = new Set([
  'EventRateLimit',
  'ImagePolicyWebhook',
  'MutatingAdmissionWebhook',
  'PodNodeSelector',
  'PodSecurity',
  'PodTolerationRestriction',
  'ResourceQuota',
  'ValidatingAdmissionWebhook',
]);

const checked = <T>(plugin: string, texts: PluginTexts, read: (text: string) => Read<T>): T | undefined => {
  const text = texts.get(plugin);
  if (text === undefined) return undefined;
  try {
    const {value, errors} = read(text);
    if (errors.length > 0) throw new Error(combinedMessage(errors.map(({path, detail}) => `${path}: ${detail}`)));
    return value;
  } catch (cause) {
    throw new Error(`${plugin}: ${(cause as Error).message}`, {cause});
  }
};

/** Reads the configurations of the plugins. Throws an error of one line that names the plugin. */
export const readPluginSettings = (texts: PluginTexts, naming: Naming): PluginSettings => ({
  eventLimits: checked('EventRateLimit', texts, text => readEventLimits(text, naming)),
  podSecurity: checked('PodSecurity', texts, text => readPodSecurity(text, naming)),
  nodeSelectors: checked('PodNodeSelector', texts, readNodeSelectors),
  tolerations: checked('PodTolerationRestriction', texts, text => readTolerations(text, naming)),
  limitedResources: checked('ResourceQuota', texts, text => readLimitedResources(text, naming)),
  imagePolicy: checked('ImagePolicyWebhook', texts, readImagePolicy),
  mutatingWebhooks: checked('MutatingAdmissionWebhook', texts, text => readWebhookAdmission(text, naming)),
  validatingWebhooks: checked('ValidatingAdmissionWebhook', texts, text => readWebhookAdmission(text, naming)),
});
