import type {ClusterRole} from '#src/api/types.js';
import {read, type PolicyBuilders} from './builders.js';

/** The roles of node agents, and of components that act for nodes. */
export const nodeRoles = ({naming, clusterRole, reportEvents, rule, when}: PolicyBuilders): ClusterRole[] => [
  clusterRole('system:node', [
    rule('create', 'authentication', 'tokenreviews'),
    rule('create', 'authorization', 'localsubjectaccessreviews subjectaccessreviews'),
    rule(read, 'core', 'services'),
    rule('create get list watch', 'core', 'nodes'),
    rule('patch update', 'core', 'nodes/status'),
    rule('patch update', 'core', 'nodes'),
    reportEvents,
    rule(read, 'core', 'pods'),
    rule('create delete', 'core', 'pods'),
    rule('patch update', 'core', 'pods/status'),
    rule('create', 'core', 'pods/eviction'),
    rule(read, 'core', 'configmaps secrets'),
    rule('get', 'core', 'persistentvolumeclaims persistentvolumes'),
    rule('get', 'core', 'endpoints'),
    rule('create get list watch', 'certificates', 'certificatesigningrequests'),
    rule('create delete get patch update', 'coordination', 'leases'),
    rule('get', 'storage', 'volumeattachments'),
    rule('create', 'core', 'serviceaccounts/token'),
    rule('get patch update', 'core', 'persistentvolumeclaims/status'),
    rule(read, 'storage', 'csidrivers'),
    rule('create delete get patch update', 'storage', 'csinodes'),
    rule(read, 'node', 'runtimeclasses'),
    rule('get', 'resource', 'resourceclaims'),
    rule('deletecollection', 'resource', 'resourceslices'),
    ...when('ClusterTrustBundle', rule(read, 'certificates', 'clustertrustbundles')),
    rule('get', 'core', 'serviceaccounts'),
    ...when('PodCertificateRequest', rule('create get list watch', 'certificates', 'podcertificaterequests')),
  ]),
  clusterRole(`system:${naming.agent}-api-admin`, [
    rule(read, 'core', 'nodes'),
    rule('proxy', 'core', 'nodes'),
    rule('*', 'core', 'nodes/log nodes/metrics nodes/proxy nodes/stats'),
    rule('*', 'core', 'nodes/configz nodes/healthz nodes/pods'),
  ]),
  clusterRole('system:node-bootstrapper', [rule('create get list watch', 'certificates', 'certificatesigningrequests')]),
  clusterRole('system:node-problem-detector', [
    rule('get', 'core', 'nodes'),
    rule('patch', 'core', 'nodes/status'),
    reportEvents,
  ]),
  clusterRole('system:node-proxier', [
    rule('list watch', 'core', 'endpoints services'),
    rule(read, 'core', 'nodes'),
    reportEvents,
    rule('list watch', 'networking', 'servicecidrs'),
    rule('list watch', 'discovery', 'endpointslices'),
  ]),
];
