import {comparison} from '#bench/comparison/comparison.js';
import {memoryPartRows} from '#bench/decisions/memory.js';
import {storeCacheRows} from '#bench/decisions/store-caches.js';
import {growth} from '#bench/growth/growth.js';
import type {Subject} from '#bench/run/subject.js';
import {agent} from '#bench/subjects/agent.js';
import {certificateRows} from '#bench/subjects/certificates.js';
import {controllerSyncRows} from '#bench/subjects/controller-syncs.js';
import {definitionRows} from '#bench/subjects/definitions.js';
import {dnsRows} from '#bench/subjects/dns.js';
import {etcdRows} from '#bench/subjects/etcd.js';
import {fairnessRows} from '#bench/subjects/fairness.js';
import {garbageRows} from '#bench/subjects/garbage.js';
import {manyRows} from '#bench/subjects/many.js';
import {operator} from '#bench/subjects/operator.js';
import {pkiRows} from '#bench/subjects/pki.js';
import {recorder} from '#bench/subjects/recorder.js';
import {requestRows} from '#bench/subjects/requests.js';
import {rolloutRows} from '#bench/subjects/rollout.js';
import {schedulingRows} from '#bench/subjects/scheduling.js';
import {proxyProgramRows} from '#bench/subjects/proxy-programs.js';
import {serviceProxyRows} from '#bench/subjects/service-proxy.js';
import {servingRows} from '#bench/subjects/serving.js';
import {simulationRows} from '#bench/subjects/simulation.js';
import {startUp} from '#bench/subjects/start-up.js';
import {storeRows} from '#bench/subjects/store.js';
import {stuckRequestRows} from '#bench/subjects/stuck-requests.js';
import {watchRows} from '#bench/subjects/watch.js';

/** All benchmarks, in the order in which they run. */
export const subjects: readonly Subject[] = [
  startUp,
  comparison,
  growth,
  {name: 'requests', measure: requestRows},
  recorder,
  operator,
  {name: 'fairness', measure: fairnessRows},
  {name: 'watch', measure: watchRows},
  {name: 'certificates', measure: certificateRows},
  {name: 'garbage', measure: garbageRows},
  {name: 'scheduling', measure: schedulingRows},
  {name: 'definitions', measure: definitionRows},
  {name: 'simulation', measure: simulationRows},
  agent,
  {name: 'service-proxy', measure: serviceProxyRows},
  {name: 'proxy-programs', measure: proxyProgramRows},
  {name: 'rollout', measure: rolloutRows},
  {name: 'looks', measure: controllerSyncRows},
  {name: 'many', measure: manyRows},
  {name: 'stuck', measure: stuckRequestRows},
  {name: 'serving', measure: servingRows},
  {name: 'dns', measure: dnsRows},
  {name: 'store', measure: storeRows},
  {name: 'etcd', measure: etcdRows},
  {name: 'pki', measure: pkiRows},
  {name: 'store-caches', isOnRequest: true, measure: storeCacheRows},
  {name: 'memory-parts', isOnRequest: true, measure: memoryPartRows},
];
