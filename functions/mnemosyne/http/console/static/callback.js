// This script runs in the log-in window, after the authorization server has redirected the window. It sends the
// parameters of the redirection to the console and closes the window.
const channel = new BroadcastChannel("mnemosyne-log-in");
channel.postMessage(Object.fromEntries(new URLSearchParams(location.search)));
channel.close();
window.close();
