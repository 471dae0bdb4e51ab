import {read, type ControllerRules, type PolicyBuilders} from './builders.js';

/** The rules of the controllers for nodes, namespaces, accounts and the cluster itself. */
export const clusterControllerRoles = ({naming, gate, reportEvents, rule}: PolicyBuilders): ControllerRules => ({
  'clusterrole-aggregation-controller': [rule('escalate get list patch update watch', 'rbac.authorization', 'clusterroles')],
  'generic-garbage-collector': [rule('delete get list patch update watch', '*', '*'), reportEvents],
  'legacy-service-account-token-cleaner': [
    rule('get', 'core', 'configmaps', naming.legacyTokenTracking),
    rule('delete patch', 'core', 'secrets'),
  ],
  'namespace-controller': [
    rule('delete get list watch', 'core', 'namespaces'),
    rule('update', 'core', 'namespaces/finalize namespaces/status'),
    rule('delete deletecollection get list watch', '*', '*'),
  ],
  'node-controller': [
    rule('delete get list patch update watch', 'core', 'nodes'),
    rule('patch update', 'core', 'nodes/status'),
    rule('patch update', 'core', 'pods/status'),
    rule('delete get list watch', 'core', 'pods'),
    reportEvents,
  ],
  'resourcequota-controller': [rule('list watch', '*', '*'), rule('update', 'core', 'resourcequotas/status'), reportEvents],
  'root-ca-cert-publisher': [rule('create update', 'core', 'configmaps'), reportEvents],
  'service-account-controller': [rule('create', 'core', 'serviceaccounts'), reportEvents],
  'ttl-controller': [rule('list patch update watch', 'core', 'nodes'), reportEvents],
  'validatingadmissionpolicy-status-controller': [
    rule(read, 'admissionregistration', 'validatingadmissionpolicies'),
    rule('get patch update', 'admissionregistration', 'validatingadmissionpolicies/status'),
    reportEvents,
  ],
  ...(gate('PodCertificateRequest')
    ? {podcertificaterequestcleaner: [rule(`delete ${read}`, 'certificates', 'podcertificaterequests')]}
    : {}),
  ...(gate('ClusterTrustBundle')
    ? {
        [naming.component('apiserver-serving-clustertrustbundle-publisher')]: [
          rule('attest', 'certificates', 'signers', naming.signers.apiserverServing),
          rule('create delete list update watch', 'certificates', 'clustertrustbundles'),
          reportEvents,
        ],
      }
    : {}),
  ...(gate('StorageVersionAPI') && gate('APIServerIdentity')
    ? {
        'storage-version-garbage-collector': [
          rule(read, 'coordination', 'leases'),
          rule(`delete patch update ${read}`, 'internal.apiserver', 'storageversions'),
          rule('get patch update', 'internal.apiserver', 'storageversions/status'),
        ],
      }
    : {}),
  ...(gate('StorageVersionMigrator')
    ? {
        // Apply requires create; it never succeeds here, since the uid is set.
        'storage-version-migrator-controller': [
          rule('create list patch watch', '*', '*'),
          rule('update', 'storagemigration', 'storageversionmigrations/status'),
        ],
      }
    : {}),
});
