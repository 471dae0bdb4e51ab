import type {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {placeOfLock} from '#src/plane/component/election.js';
import {controllerManager, migrationCheck} from '#src/plane/controller-manager/component.js';
import {selectControllers} from '#src/runtime/selection.js';
import type {Controller} from '#src/runtime/controller.js';
import {runComponentProgram} from '#src/cli/program/component.js';
import type {ServerConnection} from '#src/cli/program/connection.js';
import type {Invocation} from '#src/program/program.js';
import {otherManagerOf} from './other-manager.js';

type Given = Invocation<(typeof controllerManagerFlags)['rows']>;

/** The health checks of locks, besides those of controllers. */
const lockChecks = ['leaderElection', migrationCheck];

/**
 * `plat-controller-manager`: runs the selected controllers, with leader election, until it is stopped. Returns the exit
 * code.
 */
export const runControllerManager = async (invocation: Given): Promise<number> => {
  const {controllers} = await import('#controllers/index.js');
  return runComponentProgram(controllerManager(controllers), invocation, {
    describe: ({checks}) => `${checks.names.filter(name => !lockChecks.includes(name)).length} controllers at work`,
    begin: connection => warnAboutOtherManager(invocation, connection, controllers),
  });
};

/**
 * Warns about each controller that the cluster's own manager runs already, under another lock. Errors are not reported.
 */
const warnAboutOtherManager = async (
  {parsed: {options, set}, clock, log}: Given,
  connection: ServerConnection,
  controllers: readonly Controller[],
): Promise<void> => {
  try {
    const lock = options.leaderElect ? placeOfLock(options, set, connection.naming.systemNamespace) : undefined;
    const holder = await otherManagerOf(connection.client('doubled', {timeoutMs: 5000}), clock, lock);
    if (holder === undefined) return;
    for (const {name} of selectControllers(controllers, options.controllers).selected)
      log.warn({controller: name, manager: holder}, 'the cluster has a manager of its own that runs this controller too');
  } catch (error) {
    log.v(1).info({err: error}, 'whether the cluster has a manager of its own is unknown');
  }
};
