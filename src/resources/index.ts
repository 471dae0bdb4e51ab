import {controllerRevisions} from './apps/controllerrevision.js';
import {daemonSets} from './apps/daemonset.js';
import {deployments} from './apps/deployment.js';
import {replicaSets} from './apps/replicaset.js';
import {statefulSets} from './apps/statefulset.js';
import {selfSubjectReviews} from './authentication/selfsubjectreview.js';
import {tokenReviews} from './authentication/tokenreview.js';
import {localSubjectAccessReviews} from './authorization/localsubjectaccessreview.js';
import {selfSubjectAccessReviews} from './authorization/selfsubjectaccessreview.js';
import {selfSubjectRulesReviews} from './authorization/selfsubjectrulesreview.js';
import {subjectAccessReviews} from './authorization/subjectaccessreview.js';
import {cronJobs} from './batch/cronjob.js';
import {jobs} from './batch/job.js';
import {certificateSigningRequests} from './certificates/certificatesigningrequest.js';
import {leases} from './coordination/lease.js';
import {configMaps} from './core/configmap.js';
import {events} from './core/event.js';
import {namespaces} from './core/namespace.js';
import {nodes} from './core/node.js';
import {pods} from './core/pod/definition.js';
import {podTemplates} from './core/podtemplate.js';
import {replicationControllers} from './core/replicationcontroller.js';
import {secrets} from './core/secret.js';
import {serviceAccounts} from './core/serviceaccount.js';
import type {ResourceDefinition} from './definition.js';
import {clusterRoleBindings} from './rbac/clusterrolebinding.js';
import {clusterRoles} from './rbac/clusterrole.js';
import {roleBindings} from './rbac/rolebinding.js';
import {roles} from './rbac/role.js';

/** Every built-in resource. What is served, stored and shown follows from this list. */
export const resources: readonly ResourceDefinition[] = [
  configMaps,
  events,
  namespaces,
  nodes,
  pods,
  podTemplates,
  replicationControllers,
  secrets,
  serviceAccounts,
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  statefulSets,
  selfSubjectReviews,
  tokenReviews,
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
  cronJobs,
  jobs,
  certificateSigningRequests,
  leases,
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
];
