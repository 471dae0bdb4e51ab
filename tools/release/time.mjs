// The time that a release states, the same whenever the same sources are released.
import {spawnSync} from 'node:child_process';

/** Returns the time of a release in seconds: SOURCE_DATE_EPOCH, or that of the commit, or the current one. */
export const releaseTime = ({SOURCE_DATE_EPOCH: given} = process.env) => {
  if (given !== undefined && !/^\d+$/.test(given))
    throw new Error(`SOURCE_DATE_EPOCH must be a number of seconds, not ${JSON.stringify(given)}`);
  const {status, stdout} = spawnSync('git', ['log', '-1', '--format=%ct'], {encoding: 'utf8'});
  return Number(given ?? (status === 0 ? stdout.trim() : Math.floor(Date.now() / 1000)));
};
