import type {GroupMarkers} from './types.js';

/** The markers of `meta`, which its field tables do not contain. */
export const meta: GroupMarkers = {
  v1: {
    APIGroup: {preferredVersion: 'value', serverAddressByClientCIDRs: 'atomic', versions: 'atomic'},
    APIGroupList: {groups: 'atomic'},
    APIResource: {'*': 'required(name,singularName,namespaced,kind,verbs)', categories: 'atomic', shortNames: 'atomic'},
    APIResourceList: {resources: 'atomic'},
    APIVersions: {'*': 'required(versions,serverAddressByClientCIDRs)', serverAddressByClientCIDRs: 'atomic', versions: 'atomic'},
    Condition: {'*': 'required(type,status,lastTransitionTime,reason,message)', lastTransitionTime: 'null'},
    DeleteOptions: {
      '*': 'pointers(gracePeriodSeconds,ignoreStoreReadErrorWithClusterBreakingPotential,orphanDependents,propagationPolicy)',
      dryRun: 'atomic',
    },
    FieldSelectorRequirement: {values: 'atomic'},
    GroupResource: {group: ':string required', resource: ':string required'},
    LabelSelector: {'*': 'atomic', matchExpressions: 'atomic'},
    LabelSelectorRequirement: {values: 'atomic'},
    ListMeta: {'*': 'pointers(remainingItemCount)'},
    ManagedFieldsEntry: {fieldsV1: ':fields'},
    ObjectMeta: {
      // Entries sent empty reset the managed fields.
      '*': 'pointers(deletionGracePeriodSeconds,managedFields)',
      finalizers: 'set patch=merge',
      managedFields: 'atomic outermost',
      ownerReferences: 'map(uid) patch=merge(uid)',
    },
    OwnerReference: {'*': 'atomic pointers(blockOwnerDeletion,controller)'},
    Preconditions: {'*': 'pointers(resourceVersion,uid)'},
    StatusDetails: {causes: 'atomic'},
    WatchEvent: {'*': 'required(type,object)', object: ':raw'},
  },
};
