import {mkdtempSync, readFileSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {SimulatedState} from '#controllers/shared/cloud/simulated/state.js';

/** The files of a simulated cloud, and the flags that name them. */
export const aCloud = (configuration: object = {}, state?: Partial<SimulatedState>) => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-cloud-'));
  const [config, stateFile] = [join(folder, 'cloud.yaml'), join(folder, 'state.json')];
  const configure = (next: object): void => writeFileSync(config, JSON.stringify({stateFile, ...next}));
  const set = (next: Partial<SimulatedState>): void => writeFileSync(stateFile, JSON.stringify(next));
  configure(configuration);
  if (state) set(state);
  return {
    args: ['--cloud-provider=simulated', `--cloud-config=${config}`],
    config,
    configure,
    set,
    state: () => JSON.parse(readFileSync(stateFile, 'utf8')) as SimulatedState,
  };
};
