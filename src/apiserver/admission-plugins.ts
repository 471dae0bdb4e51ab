// The admission plugins: their order, the selection by flags, and their creation with the dependencies that each needs.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import type {Writer} from '#src/api/writer.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {defaultAdmissionPlugins, type AdmissionPlugin as PluginName} from '#src/options/apiserver/admission.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {AdmissionPlugin} from './admission/admission.js';
import {alwaysPullImages} from './admission/pods/always-pull-images.js';
import {imagePolicyWebhook, type ImagePolicy} from './admission/pods/image-policy.js';
import {nodeDeclaredFeatures} from './admission/pods/node-declared-features.js';
import {alwaysAdmit, alwaysDeny} from './admission/always.js';
import {certificateApproval} from './admission/certificates/certificate-approval.js';
import {certificateSigning} from './admission/certificates/certificate-signing.js';
import {certificateSubjectRestriction} from './admission/certificates/certificate-subject-restriction.js';
import {clusterTrustBundleAttest} from './admission/certificates/cluster-trust-bundle-attest.js';
import {persistentVolumeClaimResize} from './admission/storage/claim-resize.js';
import {defaultIngressClass, defaultStorageClass} from './admission/default-classes.js';
import {defaultTolerationSeconds, type TolerationSeconds} from './admission/pods/default-toleration-seconds.js';
import {denyServiceExternalIps} from './admission/deny-external-ips.js';
import type {PluginSettings} from './admission/configuration/settings.js';
import {eventRateLimit} from './admission/event-rate-limit.js';
import {extendedResourceToleration} from './admission/pods/extended-resource-toleration.js';
import {limitPodHardAntiAffinityTopology} from './admission/pods/hard-anti-affinity.js';
import {limitRanger} from './admission/limit-ranger/plugin.js';
import {namespaceAutoProvision, namespaceExists} from './admission/namespace-presence.js';
import {nodeRestriction} from './admission/node-restriction/plugin.js';
import {ownerReferencesPermission} from './admission/owner-references-permission.js';
import {podNodeSelector} from './admission/pods/pod-node-selector.js';
import {podSecurity} from './admission/pod-security/plugin.js';
import {podTolerationRestriction} from './admission/pods/pod-toleration-restriction.js';
import {podTopologyLabels} from './admission/pods/pod-topology-labels.js';
import {priority} from './admission/pods/priority.js';
import {resourceQuota} from './admission/resource-quota/plugin.js';
import type {QuotaSource} from './admission/resource-quota/quota-source.js';
import {runtimeClass} from './admission/pods/runtime-class.js';
import {serviceAccount} from './admission/pods/service-account.js';
import {storageObjectInUseProtection} from './admission/storage/storage-protection.js';
import {taintNodesByCondition} from './admission/taint-nodes-by-condition.js';
import {namespaceLifecycle, type FindNamespace} from './admission/namespace-lifecycle.js';
import type {PolicyParts} from './admission/policy/context.js';
import {mutatingPolicies} from './admission/policy/mutating.js';
import {validatingPolicies} from './admission/policy/validating.js';
import {hookContext, type HookParts} from './admission/webhook/context.js';
import {mutatingWebhooks} from './admission/webhook/mutating.js';
import {validatingWebhooks} from './admission/webhook/validating.js';

/** The dependencies of plugins. */
export interface PluginContext extends PluginSettings {
  readonly naming: Naming;
  readonly authorizer: Authorizer | undefined;
  readonly findNamespace: FindNamespace;
  readonly reader: Reader;
  /** Changes objects on behalf of the server itself. */
  readonly change: Writer['change'];
  readonly clock: Clock;
  readonly random: Random;
  readonly webhooks: HookParts;
  readonly policies: PolicyParts;
  readonly quotas: QuotaSource;
  /** The server that reviews images; required by ImagePolicyWebhook. */
  readonly imageReviews?: ImagePolicy | undefined;
  readonly log: Log;
  readonly meter?: Meter;
  createNamespace(name: string): Promise<unknown>;
  /** The served kinds of that name in an apiVersion. */
  kindsOf(apiVersion: string, kind: string): readonly Kind[];
  /** The emulated minor version. */
  readonly minor: number;
  readonly tolerationSeconds: TolerationSeconds;
  gate(name: string): boolean;
}

const guard = (name: PluginName, {naming, authorizer, gate}: PluginContext) => {
  if (!authorizer) throw new Error(`${name} requires an authorizer`);
  return {naming, authorizer, gate};
};

const configured = <T>(name: PluginName, value: T | undefined): T => {
  if (value === undefined)
    throw new Error(`--enable-admission-plugins: ${name} needs a configuration in the file of --admission-control-config-file`);
  return value;
};

type Create = (context: PluginContext) => AdmissionPlugin;

/** All plugins in the order of both phases. */
export const pluginsInOrder: readonly (readonly [name: PluginName, create: Create])[] = [
  ['AlwaysAdmit', () => alwaysAdmit],
  ['NamespaceAutoProvision', ({findNamespace, createNamespace}) => namespaceAutoProvision(findNamespace, createNamespace)],
  ['NamespaceLifecycle', ({naming, reader}) => namespaceLifecycle(naming, reader)],
  ['NamespaceExists', ({findNamespace}) => namespaceExists(findNamespace)],
  ['LimitPodHardAntiAffinityTopology', ({naming}) => limitPodHardAntiAffinityTopology(naming)],
  ['LimitRanger', limitRanger],
  ['ServiceAccount', serviceAccount],
  ['NodeRestriction', nodeRestriction],
  ['TaintNodesByCondition', ({naming}) => taintNodesByCondition(naming)],
  ['AlwaysPullImages', ({naming}) => alwaysPullImages(naming)],
  ['ImagePolicyWebhook', ({imageReviews, ...context}) => imagePolicyWebhook(configured('ImagePolicyWebhook', imageReviews), context)],
  ['PodSecurity', podSecurity],
  ['PodNodeSelector', podNodeSelector],
  ['Priority', priority],
  ['DefaultTolerationSeconds', ({naming, tolerationSeconds}) => defaultTolerationSeconds({naming, seconds: tolerationSeconds})],
  ['PodTolerationRestriction', podTolerationRestriction],
  ['EventRateLimit', ({eventLimits, clock}) => eventRateLimit(configured('EventRateLimit', eventLimits), clock)],
  ['ExtendedResourceToleration', ({naming}) => extendedResourceToleration(naming)],
  ['DefaultStorageClass', defaultStorageClass],
  ['StorageObjectInUseProtection', ({naming}) => storageObjectInUseProtection(naming)],
  [
    'OwnerReferencesPermissionEnforcement',
    context => ownerReferencesPermission({...guard('OwnerReferencesPermissionEnforcement', context), kindsOf: context.kindsOf}),
  ],
  ['PersistentVolumeClaimResize', persistentVolumeClaimResize],
  ['RuntimeClass', runtimeClass],
  ['CertificateApproval', context => certificateApproval(guard('CertificateApproval', context))],
  ['CertificateSigning', context => certificateSigning(guard('CertificateSigning', context))],
  ['ClusterTrustBundleAttest', context => clusterTrustBundleAttest(guard('ClusterTrustBundleAttest', context))],
  ['CertificateSubjectRestriction', ({naming}) => certificateSubjectRestriction(naming)],
  ['DefaultIngressClass', defaultIngressClass],
  ['DenyServiceExternalIPs', ({naming}) => denyServiceExternalIps(naming)],
  ['PodTopologyLabels', podTopologyLabels],
  ['NodeDeclaredFeatureValidator', nodeDeclaredFeatures],
  ['MutatingAdmissionPolicy', mutatingPolicies],
  ['MutatingAdmissionWebhook', context => mutatingWebhooks(hookContext(kinds.mutatingWebhookConfigurations as Kind, 'admit', context))],
  ['ValidatingAdmissionPolicy', validatingPolicies],
  [
    'ValidatingAdmissionWebhook',
    context => validatingWebhooks(hookContext(kinds.validatingWebhookConfigurations as Kind, 'validating', context)),
  ],
  ['ResourceQuota', resourceQuota],
  ['AlwaysDeny', () => alwaysDeny],
];

/** The flags that select plugins. */
export interface PluginChoice {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
  /** The deprecated flag with the complete list; empty if it is not set. */
  readonly exactly?: readonly string[];
}

/** Returns the enabled plugins. */
export const chosenPlugins = ({enable, disable, exactly = []}: PluginChoice): ReadonlySet<string> => {
  if (exactly.length > 0) return new Set(exactly);
  return new Set([...defaultAdmissionPlugins.filter(name => !disable.includes(name)), ...enable]);
};

/** Creates the enabled plugins, in their order. Throws if a dependency is missing. */
export const createPlugins = (choice: PluginChoice, context: PluginContext): readonly AdmissionPlugin[] => {
  const on = chosenPlugins(choice);
  return pluginsInOrder.flatMap(([name, create]) => (on.has(name) ? [create(context)] : []));
};
