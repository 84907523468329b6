// Chat completions on the sandbox, half of them streams: 20 requests a second for a
// minute, or as k6's options say.
import http from 'k6/http';
import { check } from 'k6';

export const options = {
  scenarios: {
    chat: { executor: 'constant-arrival-rate', rate: 20, timeUnit: '1s', duration: '1m', preAllocatedVUs: 50 },
  },
};

export default function () {
  const stream = Math.random() < 0.5;
  const answer = http.post(`${__ENV.GENWAY_URL}/v1/chat/completions`,
    JSON.stringify({ model: 'sandbox-text', stream, messages: [{ role: 'user', content: 'Hello.' }] }),
    { headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${__ENV.GENWAY_KEY}` } });
  check(answer, {
    'status is 200': (a) => a.status === 200,
    'a stream ends whole': (a) => !stream || (a.body ?? '').endsWith('data: [DONE]\n\n'),
  });
}
