// What each plugin of filtering and scoring adds to the signature of a pod.

import type {PluginSignature} from '#src/scheduler/framework/plugin.js';
import type {DefaultConstraint} from '#src/scheduler/topology/constraints.js';
import {hostPorts, imageNames, labels, nodeName, nodeSelector, requiredFeatures, resources, tolerations, volumes} from './fragments.js';
import {nodeAffinity} from './node-affinity-fragment.js';

export const signsTolerations: PluginSignature = {fragments: [tolerations]};
export const signsNodeName: PluginSignature = {fragments: [nodeName]};
export const signsNodeAffinity: PluginSignature = {fragments: [nodeAffinity, nodeSelector]};
export const signsHostPorts: PluginSignature = {fragments: [hostPorts]};
export const signsVolumes: PluginSignature = {fragments: [volumes]};
export const signsImages: PluginSignature = {fragments: [imageNames]};
export const signsFeatures: PluginSignature = {fragments: [requiredFeatures]};

/** Devices may provide extended resources, whichever node has them. */
export const signsResources: PluginSignature = {
  refuses: (_, {devices}) => devices.features.extendedResource,
  fragments: [resources],
};

/** Devices are allocated across nodes. */
export const signsClaims: PluginSignature = {refuses: ({pod}) => (pod.spec?.resourceClaims ?? []).length > 0, fragments: []};

/**
 * Affinity depends on other pods. One without affinity has it with those that have terms for its labels, unless these
 * are ignored.
 */
export const signsPodAffinity = (ignorePreferredTermsOfExistingPods: boolean): PluginSignature => ({
  refuses: ({pod: {spec}}) => Boolean(spec?.affinity?.podAffinity ?? spec?.affinity?.podAntiAffinity),
  fragments: ignorePreferredTermsOfExistingPods ? [] : [labels],
});

/** Spreading depends on other pods. Without `defaults` those of the system apply. */
export const signsTopologySpread = (defaults: readonly DefaultConstraint[] | undefined): PluginSignature => ({
  refuses: ({pod}) => defaults?.length !== 0 || (pod.spec?.topologySpreadConstraints ?? []).length > 0,
  fragments: [],
});
