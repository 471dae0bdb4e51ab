import {admissionregistration} from './admissionregistration.js';
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
import {discovery} from './discovery.js';
import {events} from './events.js';
import {flowcontrolApiserver} from './flowcontrol-apiserver.js';
import type {GroupMarkers} from './types.js';
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

/** The marker tables by group. */
export const markers: Readonly<Record<string, GroupMarkers>> = {
  admissionregistration,
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
  discovery,
  events,
  'flowcontrol.apiserver': flowcontrolApiserver,
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
