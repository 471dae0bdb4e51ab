import {figures, soak} from './soak.js';
import {tableOf} from './levels.js';

// `make soak`: a whole plane under churn, faults and clock jumps, whose caches and figures are checked. docs/testing.md
// has the settings.
const {SOAK_MINUTES = '4', SOAK_SEED = '1', SOAK_SECONDS = '15', SOAK_NODES = '3', SOAK_WORKERS = '4'} = process.env;

console.log(`seed ${SOAK_SEED}, ${SOAK_MINUTES} minutes`);
console.error(`after each cycle: ${figures.map(({name}) => name).join(', ')}`);
const {problems, rows, requests, faults} = await soak({
  seed: Number(SOAK_SEED),
  minutes: Number(SOAK_MINUTES),
  cycleSeconds: Number(SOAK_SECONDS),
  nodes: Number(SOAK_NODES),
  workers: Number(SOAK_WORKERS),
  progress: line => console.error(line),
});
for (const line of tableOf(figures, rows)) console.log(line);
console.log([...faults].map(([name, count]) => `${count} × ${name}`).join(', '));
for (const problem of problems) console.log(problem);
// Growth shows in halves of two measurements or more.
const verdict = rows.length < 4 ? 'all caches right, too few measurements for growth' : 'all caches right, all figures level';
console.log(`${requests} requests, ${rows.length} measurements: ${problems.length === 0 ? verdict : `${problems.length} problems`}`);
process.exit(problems.length > 0 ? 1 : 0);
