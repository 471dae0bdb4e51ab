// The program: `node main.js --kubeconfig=... --leader-elect`. It needs a Service `cronjobs` for its webhooks, and prints its calendar.
import {runManager} from 'plat/operator';
import {cronJobs, webhooks, type Calendar} from './operator.js';

const calendar: Calendar = {
  announce: async (entry, at) => console.log(`${entry} runs next at ${at.toISOString()}`),
  withdraw: async entry => console.log(`${entry} does not run any more`),
};

await runManager({
  name: 'cronjobs',
  summary: 'Runs the jobs of cron jobs at their times.',
  controllers: [cronJobs(calendar)],
  webhooks: {handlers: webhooks, configurations: ['cronjobs']},
});
