import type {FlagTable} from '#src/options/flag.js';
import {apiserverFlags} from './apiserver.js';
import {certificateFlags, tokenFlags, versionFlags} from './client.js';
import {completionFlags} from './completion.js';
import {controllerManagerFlags} from './controller-manager.js';
import {createFlags} from './create.js';
import {demoFlags} from './demo.js';
import {envtestFlags} from './envtest.js';
import {generateFlags} from './generate.js';
import {nodesFlags} from './nodes.js';
import {platletFlags} from './platlet.js';
import {schedulerFlags} from './scheduler.js';
import {snapshotFlags} from './snapshot.js';
import {upFlags} from './up.js';

/** The flags of all programs and of all commands of `plat`, which can be run. */
export const flagTables = [
  apiserverFlags,
  controllerManagerFlags,
  schedulerFlags,
  platletFlags,
  upFlags,
  nodesFlags,
  certificateFlags,
  tokenFlags,
  snapshotFlags,
  envtestFlags,
  generateFlags,
  createFlags,
  completionFlags,
  demoFlags,
  versionFlags,
] as unknown as readonly FlagTable[];
