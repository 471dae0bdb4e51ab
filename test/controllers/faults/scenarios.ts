import type {Scenario} from './harness.js';
import {accessScenarios} from './scenarios/access.js';
import {certificateScenarios} from './scenarios/certificates.js';
import {cloudScenarios} from './scenarios/clouds.js';
import {deviceScenarios} from './scenarios/devices.js';
import {endpointScenarios} from './scenarios/endpoints.js';
import {joiningScenarios} from './scenarios/joining.js';
import {nodeScenarios} from './scenarios/nodes.js';
import {volumeScenarios} from './scenarios/volumes.js';
import {workloadScenarios} from './scenarios/workloads.js';

/** One for each controller, by the name less `-controller`. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  ...accessScenarios,
  ...certificateScenarios,
  ...cloudScenarios,
  ...deviceScenarios,
  ...endpointScenarios,
  ...joiningScenarios,
  ...nodeScenarios,
  ...volumeScenarios,
  ...workloadScenarios,
};
