import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {naming as namingOf, type Naming} from '#src/api/naming.js';
import {systemClock, withErrorHandler, type Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog, type Log} from '#src/base/log.js';
import {systemRandom, type Random} from '#src/base/random.js';
import type {Undo} from '#src/base/undo.js';
import {UnhandledErrors} from '#src/observe/unhandled.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {parseFlags, type Parsed} from '#src/options/parse.js';
import {planeNaming} from '#src/options/shared/naming.js';
import {schedulerFlags} from '#src/options/programs/scheduler.js';
import {apiserverArgs, concernsGivenFlag, controllerManagerArgs, schedulerArgs} from './arguments.js';
import {checkKubeconfig} from '#src/plane/kubeconfig/file.js';
import type {Document, Manifest} from '#src/plane/manifests/read.js';
import {planeMaterial, type PlaneMaterial} from './material.js';
import type {PlaneOptions} from './options.js';

/** The inputs of a plane's start: its options with defaults, its files, and the flags of its programs. */
export interface PlaneInputs {
  readonly options: PlaneOptions;
  readonly naming: Naming;
  /** Errors of its callbacks are reported by `unhandled`, and end neither the process nor the plane. */
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly unhandled: UnhandledErrors;
  readonly directory: string;
  readonly material: PlaneMaterial;
  readonly manifests: readonly Document[];
  readonly apiserver: Parsed<(typeof apiserverFlags)['rows']>;
  /** The flags that `apiserver` was parsed from. */
  readonly apiserverArgs: readonly string[];
  readonly controllerManager: Parsed<(typeof controllerManagerFlags)['rows']>;
  readonly scheduler: Parsed<(typeof schedulerFlags)['rows']>;
}

/** Reads and validates all inputs of a plane, and creates its keys. A directory created for it is removed by `undo`. */
export const readInputs = async (given: PlaneOptions, undo: Undo): Promise<PlaneInputs> => {
  const options = {...given, naming: given.naming ?? planeNaming.naming.default};
  const {random = systemRandom, log = noLog} = options;
  const unhandled = new UnhandledErrors(log);
  const clock = guardedClock(options.clock, unhandled);
  const manifests = options.manifests?.length ? await readAll(options.manifests) : [];
  if (options.kubeconfig) await checkKubeconfig(options.kubeconfig);
  const directory = options.dataDir ? resolve(options.dataDir) : mkdtempSync(join(tmpdir(), 'plat-'));
  if (!options.dataDir) undo.defer(() => rmSync(directory, {recursive: true, force: true}));
  const material = await planeMaterial(join(directory, 'pki'), clock, log);
  const args = apiserverArgs({...options, dataDir: directory}, material);
  const apiserver = parseFlags(apiserverFlags, args);
  const controllerManager = parseFlags(
    controllerManagerFlags,
    controllerManagerArgs(options, material, apiserver.versions, options.cloudProvider ? await cloudConfigIn(directory) : ''),
  );
  const scheduler = parseFlags(schedulerFlags, schedulerArgs(options, apiserver.versions));
  const own = [...(options.apiserverArgs ?? []), ...(options.controllerManagerArgs ?? []), ...(options.schedulerArgs ?? [])];
  for (const warning of [...apiserver.warnings, ...controllerManager.warnings, ...scheduler.warnings])
    if (concernsGivenFlag(warning, own)) log.warn(warning);
  return {
    options,
    naming: namingOf(options.naming),
    clock,
    random,
    log,
    unhandled,
    directory,
    material,
    manifests,
    apiserver,
    apiserverArgs: args,
    controllerManager,
    scheduler,
  };
};

/** Returns the configuration file of the simulated cloud, which is created if it is missing. */
const cloudConfigIn = async (directory: string): Promise<string> => {
  const file = join(directory, 'cloud.yaml');
  if ((await systemFiles.read(file)) === undefined) await systemFiles.write(file, 'stateFile: cloud.json\n', 0o600);
  return file;
};

/** Reads manifests. The code is loaded on demand, since most planes have none. */
export const readAll = async (manifests: readonly Manifest[]): Promise<Document[]> =>
  (await import('#src/plane/manifests/read.js')).readManifests(manifests);

/** Reports errors of callbacks also for a given clock. */
const guardedClock = (given: Clock | undefined, unhandled: UnhandledErrors): Clock =>
  withErrorHandler(given ?? systemClock, error => {
    unhandled.handle(error);
    given?.unhandled(error);
  });
