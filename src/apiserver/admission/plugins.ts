import type {Naming} from '#src/api/naming.js';
import {defaultAdmissionPlugins, type AdmissionPlugin as PluginName} from '#src/options/apiserver/admission.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {AdmissionPlugin} from './admission.js';
import {alwaysAdmit, alwaysDeny} from './always.js';
import {certificateApproval} from './certificate-approval.js';
import {certificateSigning} from './certificate-signing.js';
import {certificateSubjectRestriction} from './certificate-subject-restriction.js';
import {clusterTrustBundleAttest} from './cluster-trust-bundle-attest.js';
import {namespaceLifecycle, type FindNamespace} from './namespace-lifecycle.js';

/** What plugins are made of. */
export interface PluginContext {
  readonly naming: Naming;
  readonly authorizer: Authorizer | undefined;
  readonly findNamespace: FindNamespace;
  gate(name: string): boolean;
}

const guard = (name: PluginName, {naming, authorizer, gate}: PluginContext) => {
  if (!authorizer) throw new Error(`${name} requires an authorizer`);
  return {naming, authorizer, gate};
};

type Create = (context: PluginContext) => AdmissionPlugin;

/** Every plugin in the order in which both phases run them. Those without a maker have nothing to act on yet. */
const inOrder: readonly (readonly [name: PluginName, create?: Create])[] = [
  ['AlwaysAdmit', () => alwaysAdmit],
  ['NamespaceAutoProvision'],
  ['NamespaceLifecycle', ({naming, findNamespace}) => namespaceLifecycle(naming, findNamespace)],
  ['NamespaceExists'],
  ['LimitPodHardAntiAffinityTopology'],
  ['LimitRanger'],
  ['ServiceAccount'],
  ['NodeRestriction'],
  ['TaintNodesByCondition'],
  ['AlwaysPullImages'],
  ['ImagePolicyWebhook'],
  ['PodSecurity'],
  ['PodNodeSelector'],
  ['Priority'],
  ['DefaultTolerationSeconds'],
  ['PodTolerationRestriction'],
  ['EventRateLimit'],
  ['ExtendedResourceToleration'],
  ['DefaultStorageClass'],
  ['StorageObjectInUseProtection'],
  ['OwnerReferencesPermissionEnforcement'],
  ['PersistentVolumeClaimResize'],
  ['RuntimeClass'],
  ['CertificateApproval', context => certificateApproval(guard('CertificateApproval', context))],
  ['CertificateSigning', context => certificateSigning(guard('CertificateSigning', context))],
  ['ClusterTrustBundleAttest', context => clusterTrustBundleAttest(guard('ClusterTrustBundleAttest', context))],
  ['CertificateSubjectRestriction', ({naming}) => certificateSubjectRestriction(naming)],
  ['DefaultIngressClass'],
  ['DenyServiceExternalIPs'],
  ['PodTopologyLabels'],
  ['NodeDeclaredFeatureValidator'],
  ['MutatingAdmissionPolicy'],
  ['MutatingAdmissionWebhook'],
  ['ValidatingAdmissionPolicy'],
  ['ValidatingAdmissionWebhook'],
  ['ResourceQuota'],
  ['AlwaysDeny', () => alwaysDeny],
];

/** Every plugin's name in the order in which they run. */
export const pluginOrder: readonly PluginName[] = inOrder.map(([name]) => name);

/** What the options say about plugins. */
export interface PluginChoice {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
  /** The deprecated option that names them all; empty when it is not used. */
  readonly exactly?: readonly string[];
}

/** Which plugins are on. */
export const chosenPlugins = ({enable, disable, exactly = []}: PluginChoice): ReadonlySet<string> => {
  if (exactly.length > 0) return new Set(exactly);
  return new Set([...defaultAdmissionPlugins.filter(name => !disable.includes(name)), ...enable]);
};

export interface Plugins {
  readonly plugins: readonly AdmissionPlugin[];
  /** Plugins somebody asked for whose subject is not there. */
  readonly withoutSubject: readonly string[];
}

/** Makes the plugins that are on, in their order. Throws when one lacks what it needs. */
export const createPlugins = (choice: PluginChoice, context: PluginContext): Plugins => {
  const on = chosenPlugins(choice);
  const asked = new Set([...choice.enable, ...(choice.exactly ?? [])]);
  return {
    plugins: inOrder.flatMap(([name, create]) => (create && on.has(name) ? [create(context)] : [])),
    withoutSubject: inOrder.flatMap(([name, create]) => (!create && asked.has(name) ? [name] : [])),
  };
};
