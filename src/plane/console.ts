import type {ApiHandler} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import {packageVersion} from '#src/api/version.js';
import {systemClock} from '#src/base/clock.js';
import {systemRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {openConsole} from '#src/console/console.js';
import type {ServedConsole} from '#src/console/served-console.js';
import {realTime, VirtualTime} from '#src/console/time.js';
import {upstreamInProcess} from '#src/console/upstream.js';
import type {PlaneInputs} from './inputs/inputs.js';

/** Serves the console of a plane to one of its users. */
export const planeConsole = (
  {clock, log, options}: Pick<PlaneInputs, 'clock' | 'log' | 'options'>,
  {handler, user, server}: {readonly handler: ApiHandler; readonly user: UserInfo; readonly server: string},
  {port = 0}: {readonly port?: number},
): Promise<ServedConsole> =>
  openConsole({
    upstream: upstreamInProcess(handler, user),
    server,
    version: packageVersion,
    time: options.clock instanceof VirtualClock ? new VirtualTime(options.clock, systemClock) : realTime(clock),
    // The connections of the page are real, whatever the time of the plane is.
    clock: systemClock,
    random: systemRandom,
    log,
    at: {address: '127.0.0.1', port},
  });
