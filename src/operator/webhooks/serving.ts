// What serves the webhooks of a manager.
export {followCertificate} from './certificates.js';
export {readCounts} from './metrics.js';
export {openWebhooks} from './server.js';
