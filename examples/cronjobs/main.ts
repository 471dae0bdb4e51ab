// The program: `node main.js --kubeconfig=... --leader-elect`. It needs a Service `cronjobs` for its webhooks, and
// prints its calendar to standard output.
import {runManager} from '@platio/plat/operator';
import {cronJobs, webhooks, type Calendar} from './operator.js';

const calendar: Calendar = {
  announce: async (entry, at) => void process.stdout.write(`${entry} runs next at ${at.toISOString()}\n`),
  withdraw: async entry => void process.stdout.write(`${entry} does not run any more\n`),
};

await runManager({
  name: 'cronjobs',
  summary: 'Runs the jobs of cron jobs at their times.',
  controllers: [cronJobs(calendar)],
  webhooks: {handlers: webhooks, configurations: ['cronjobs']},
});
