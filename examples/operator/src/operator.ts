import type {Webhook} from '@platio/plat/operator';
import {controller} from './controller.js';

// What the program runs, and the tests. `plat create api` and `plat create webhook` add to these lists.

export const controllers = [controller];

export const webhooks: readonly Webhook[] = [];

/** The webhook configurations in which the program keeps the authority of its certificate. */
export const configurations: readonly string[] = [];
