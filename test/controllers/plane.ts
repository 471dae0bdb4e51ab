import {VirtualClock} from '#src/base/virtual-clock.js';
import {startPlane, type Plane, type PlaneOptions} from '#src/plane/plane.js';

/** A plane in memory on a virtual clock, at rest: everything its start set off has happened. */
export const aPlane = async (options: Omit<PlaneOptions, 'clock' | 'listen' | 'freeze'> & {readonly clock?: VirtualClock} = {}): Promise<Plane & {readonly clock: VirtualClock}> => {
  const clock = options.clock ?? new VirtualClock();
  const plane = await startPlane({...options, listen: false, freeze: true, clock});
  await clock.drain();
  return {...plane, clock};
};
