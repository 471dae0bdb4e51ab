import {flagSection} from '#src/options/flag.js';

/** Admission plugins that are enabled by default, in documentation order. */
export const defaultAdmissionPlugins = [
  'NamespaceLifecycle',
  'LimitRanger',
  'ServiceAccount',
  'TaintNodesByCondition',
  'PodSecurity',
  'Priority',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'PersistentVolumeClaimResize',
  'RuntimeClass',
  'CertificateApproval',
  'CertificateSigning',
  'ClusterTrustBundleAttest',
  'CertificateSubjectRestriction',
  'DefaultIngressClass',
  'PodTopologyLabels',
  'NodeDeclaredFeatureValidator',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
] as const;

/** Admission plugins that are disabled by default. */
export const optionalAdmissionPlugins = [
  'AlwaysAdmit',
  'AlwaysDeny',
  'AlwaysPullImages',
  'DenyServiceExternalIPs',
  'EventRateLimit',
  'ExtendedResourceToleration',
  'ImagePolicyWebhook',
  'LimitPodHardAntiAffinityTopology',
  'NamespaceAutoProvision',
  'NamespaceExists',
  'NodeRestriction',
  'OwnerReferencesPermissionEnforcement',
  'PodNodeSelector',
  'PodTolerationRestriction',
] as const;

/** The name of an admission plugin. */
export type AdmissionPlugin = (typeof defaultAdmissionPlugins)[number] | (typeof optionalAdmissionPlugins)[number];

const plugins = [...defaultAdmissionPlugins, ...optionalAdmissionPlugins] as const;
const pluginsHelp = `On by default: ${defaultAdmissionPlugins.join(', ')}. Further plugins: ${optionalAdmissionPlugins.join(', ')}. The order of names does not matter.`;

/** Flags that select and configure admission plugins. */
export const admission = flagSection('Admission', {
  'enable-admission-plugins': {
    type: 'strings',
    help: `Plugins that are on in addition to the default set. ${pluginsHelp}`,
    oneOf: plugins,
  },
  'disable-admission-plugins': {
    type: 'strings',
    help: `Plugins that are off although they are in the default set. ${pluginsHelp}`,
    oneOf: plugins,
  },
  'admission-control': {
    type: 'strings',
    help: 'The exact list of enabled plugins. The order of names has no effect.',
    oneOf: plugins,
    deprecated: 'use --enable-admission-plugins or --disable-admission-plugins instead',
    excludes: ['enable-admission-plugins', 'disable-admission-plugins'],
  },
  'admission-control-config-file': {type: 'path', help: 'The file that configures admission plugins.'},
});

/** Returns an error if a plugin is both enabled and disabled. */
export const validateAdmissionPlugins = (options: {
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
}): string | undefined => {
  const both = options.enableAdmissionPlugins.find(plugin => options.disableAdmissionPlugins.includes(plugin));
  return both && `${both} is named by both --enable-admission-plugins and --disable-admission-plugins`;
};
