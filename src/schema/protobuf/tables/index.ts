import {admission} from './admission.js';
import {admissionregistration} from './admissionregistration.js';
import {apidiscovery} from './apidiscovery.js';
import {apiextensions} from './apiextensions.js';
import {apiregistration} from './apiregistration.js';
import {apps} from './apps.js';
import {authentication} from './authentication.js';
import {authorization} from './authorization.js';
import {autoscaling} from './autoscaling.js';
import {batch} from './batch.js';
import {certificates} from './certificates.js';
import {coordination} from './coordination.js';
import {core} from './core.js';
import {customMetrics} from './custom-metrics.js';
import {discovery} from './discovery.js';
import {events} from './events.js';
import {extensions} from './extensions.js';
import {externalMetrics} from './external-metrics.js';
import {flowcontrolApiserver} from './flowcontrol-apiserver.js';
import type {GroupTable} from './group-table.js';
import {imagepolicy} from './imagepolicy.js';
import {internalApiserver} from './internal-apiserver.js';
import {meta} from './meta.js';
import {metrics} from './metrics.js';
import {networking} from './networking.js';
import {node} from './node.js';
import {policy} from './policy.js';
import {rbacAuthorization} from './rbac-authorization.js';
import {resource} from './resource.js';
import {scheduling} from './scheduling.js';
import {storage} from './storage.js';
import {storagemigration} from './storagemigration.js';

/** The tables by group token; `core` is the group without a name. */
export const tables: Readonly<Record<string, GroupTable>> = {
  admission,
  admissionregistration,
  apidiscovery,
  apiextensions,
  apiregistration,
  apps,
  authentication,
  authorization,
  autoscaling,
  batch,
  certificates,
  coordination,
  core,
  'custom.metrics': customMetrics,
  discovery,
  events,
  extensions,
  'external.metrics': externalMetrics,
  'flowcontrol.apiserver': flowcontrolApiserver,
  imagepolicy,
  'internal.apiserver': internalApiserver,
  meta,
  metrics,
  networking,
  node,
  policy,
  'rbac.authorization': rbacAuthorization,
  resource,
  scheduling,
  storage,
  storagemigration,
};
