import {mkdtempSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {naming as namingOf, type Naming} from '#src/api/naming.js';
import {systemClock, withErrorHandler, type Clock} from '#src/base/clock.js';
import {passingFiles, systemFiles, type Files} from '#src/base/files/files.js';
import {HeldFolder} from '#src/base/files/held-folder.js';
import {noLog, type Log} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
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
import type {Foundation} from './foundation.js';
import type {PlaneOptions} from './options.js';
import type {ForkPlaneOptions} from './embedded.js';

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
  /** The directory, if it is a temporary one. */
  readonly temporary: HeldFolder | undefined;
  /** Where the plane writes its own files: what is written to a temporary directory is not flushed. */
  readonly disk: Files;
  readonly material: PlaneMaterial;
  readonly manifests: readonly Document[];
  readonly apiserver: Parsed<(typeof apiserverFlags)['rows']>;
  /** The flags that `apiserver` was parsed from. */
  readonly apiserverArgs: readonly string[];
  readonly controllerManager: Parsed<(typeof controllerManagerFlags)['rows']>;
  readonly scheduler: Parsed<(typeof schedulerFlags)['rows']>;
  readonly foundation?: Foundation;
}

/** Reads and validates all inputs of a plane, and creates its keys. A directory created for it is removed by `undo`. */
export const readInputs = async (given: PlaneOptions, undo: Undo, {beginning}: Foundation = {}): Promise<PlaneInputs> => {
  const options = {...given, naming: given.naming ?? planeNaming.naming.default};
  const {random = systemRandom, log = noLog} = options;
  const unhandled = new UnhandledErrors(log);
  const clock = guardedClock(options.clock, unhandled);
  const manifests = options.manifests?.length ? await readAll(options.manifests) : [];
  if (options.kubeconfig) await checkKubeconfig(options.kubeconfig);
  const temporary = options.dataDir ? undefined : (beginning?.temporary ?? new HeldFolder(mkdtempSync(join(tmpdir(), 'plat-'))));
  const directory = temporary?.path ?? resolve(options.dataDir!);
  if (temporary) holdUntil(undo, temporary);
  const disk = temporary ? passingFiles : systemFiles;
  const material = beginning?.material ?? (await planeMaterial(join(directory, 'pki'), clock, log, disk));
  const args = apiserverArgs({...options, dataDir: directory}, material);
  const apiserver = parseFlags(apiserverFlags, args);
  const controllerManager = parseFlags(
    controllerManagerFlags,
    controllerManagerArgs(options, material, apiserver.versions, options.cloudProvider ? await cloudConfigIn(directory, disk) : ''),
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
    temporary,
    disk,
    material,
    manifests,
    apiserver,
    apiserverArgs: args,
    controllerManager,
    scheduler,
  };
};

/** Keeps a temporary directory until the plane stops. */
const holdUntil = (undo: Undo, folder: HeldFolder): void => {
  const held = folder.hold();
  undo.defer(() => held[Symbol.dispose]());
};

/**
 * Returns the inputs as they are at this moment, with a clock that stands still where the clock is virtual, and random
 * numbers that others do not draw from.
 */
export const momentOf = (inputs: PlaneInputs): PlaneInputs => {
  const {clock, random} = inputs.options;
  const own = {...(clock instanceof VirtualClock ? {clock: clock.copy()} : {}), ...(random?.copy ? {random: random.copy()} : {})};
  return {...inputs, options: {...inputs.options, ...own}};
};

/**
 * Returns the inputs of a fork of the plane with these inputs: the same keys and flags, a port of its own, and by
 * default a clock at the same time and random numbers that continue.
 */
export const forkInputs = (inputs: PlaneInputs, given: ForkPlaneOptions, signal: AbortSignal, undo: Undo): PlaneInputs => {
  const {kubeconfig: _file, removeContextOnStop: _remove, securePort: _port, ...inherited} = momentOf(inputs).options;
  const {apiserver, log, temporary} = inputs;
  if (temporary) holdUntil(undo, temporary);
  const clock = given.clock ?? inherited.clock;
  const random = given.random ?? inherited.random ?? inputs.random;
  const listen = given.listen ?? inherited.listen ?? true;
  const unhandled = new UnhandledErrors(log);
  return {
    ...inputs,
    options: {...inherited, random, listen, signal, ...(clock ? {clock} : {})},
    clock: guardedClock(clock, unhandled),
    random,
    unhandled,
    manifests: [],
    // Its records are its own, and in memory.
    apiserver: {...apiserver, options: {...apiserver.options, securePort: 0, recordDir: ''}},
  };
};

/** Returns the configuration file of the simulated cloud, which is created if it is missing. */
const cloudConfigIn = async (directory: string, disk: Files): Promise<string> => {
  const file = join(directory, 'cloud.yaml');
  if ((await disk.read(file)) === undefined) await disk.write(file, 'stateFile: cloud.json\n', 0o600);
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
