import {systemFiles} from '#src/base/files/files.js';
import type {Naming} from '#src/api/naming.js';
import {controllerManagerFlags, type ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {OptionError} from '#src/options/option-error.js';
import type {Component, ManagerPlan, PlanContext, SecondLock} from '#src/plane/component/component.js';
import {selectControllers} from '#src/runtime/selection.js';
import type {Cloud} from '#src/runtime/cloud.js';
import type {Controller} from '#src/runtime/controller.js';
import type {Migration} from './migration.js';

type Flags = (typeof controllerManagerFlags)['rows'];

const program = 'plat-controller-manager';

/** The health check of the second lock. */
export const migrationCheck = 'leaderElection-migration';

/**
 * This controller stays under the manager's own lock, even if the migration file lists it: it runs before all others.
 */
const alwaysOwn = 'serviceaccount-token-controller';

/**
 * The controller manager: the controllers that `--controllers` selects, each with its own service account if the flags
 * require that.
 */
export const controllerManager = (controllers: readonly Controller[]): Component<Flags> => ({
  program,
  role: 'controller-manager',
  flags: controllerManagerFlags,
  check: ({controllers: items}) => void selectControllers(controllers, items),
  async plan(context) {
    const {options, connection, log} = context;
    const {selected, missing} = selectControllers(controllers, options.controllers);
    if (missing.length > 0) log.v(1).info({controllers: missing.join(',')}, 'controllers that are not part of this build are passed over');
    const migration = options.enableLeaderMigration && options.leaderElect ? await readMigration(options, connection.naming) : undefined;
    const cloud = await cloudOf(options, context);
    if (!migration) return {first: planOf(selected, context, cloud)};
    const under = (place: ReturnType<Migration['placeOf']>) =>
      selected.filter(({name}) => (name === alwaysOwn ? 'own' : migration.placeOf(name)) === place);
    const lock: SecondLock = {name: migration.leaderName, check: migrationCheck};
    return {first: planOf(under('own'), context, cloud), second: {...planOf(under('migrated'), context, cloud), lock}};
  },
  async configuration(options, naming) {
    const {configuration} = await import('./configuration.js');
    return () => configuration(controllers, options, naming);
  },
});

const planOf = (controllers: readonly Controller[], {options, connection}: PlanContext<Flags>, cloud: Cloud | undefined): ManagerPlan => ({
  controllers,
  cloud,
  clientFor: ({controller, serviceAccount, qpsFactor, burstFactor}) => {
    const allowance = {qpsFactor, burstFactor};
    return options.useServiceAccountCredentials && serviceAccount
      ? connection.accountClient(serviceAccount, controller, allowance)
      : connection.client(controller, allowance);
  },
  startIntervalMs: options.controllerStartInterval,
  shutdownTimeoutMs: options.controllerShutdownTimeout,
  minResyncMs: options.minResyncPeriod,
});

/** Returns the cloud that the flags name; undefined without one. */
const cloudOf = async (
  {cloudProvider, cloudConfig, externalCloudVolumePlugin}: ControllerManagerOptions,
  {clock, log}: PlanContext<Flags>,
): Promise<Cloud | undefined> => {
  const isExternal = cloudProvider === 'external';
  const name = isExternal ? externalCloudVolumePlugin : cloudProvider;
  if (!name) return undefined;
  const {openProvider} = await import('#controllers/shared/cloud/providers.js');
  try {
    return {provider: await openProvider(name, {configFile: cloudConfig, files: systemFiles, clock, log}), isExternal};
  } catch (error) {
    throw new OptionError(`--cloud-config: ${cloudConfig}: ${(error as Error).message}`, {cause: error});
  }
};

const readMigration = async ({leaderMigrationConfig: path}: ControllerManagerOptions, naming: Naming): Promise<Migration> => {
  const {migrationOf} = await import('./migration.js');
  try {
    const content = path ? await systemFiles.read(path) : undefined;
    if (path && content === undefined) throw new Error('there is no such file');
    return migrationOf(content?.toString(), naming, program);
  } catch (error) {
    throw new OptionError(`--leader-migration-config: ${path}: ${(error as Error).message}`, {cause: error});
  }
};
