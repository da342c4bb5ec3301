package example;

import com.aliyun.fc.runtime.Context;
import com.aliyun.fc.runtime.FunctionInitializer;
import com.aliyun.fc.runtime.HttpRequestHandler;
import com.aliyun.fc.runtime.PojoRequestHandler;
import com.aliyun.fc.runtime.PreFreezeHandler;
import com.aliyun.fc.runtime.PreStopHandler;
import com.aliyun.fc.runtime.StreamRequestHandler;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.util.List;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/** Handlers of every form that the platform's interfaces know. */
public class Handlers implements StreamRequestHandler, FunctionInitializer, PreFreezeHandler, PreStopHandler {
    private static String prepared = "";

    @Override
    public void initialize(Context context) {
        prepared = "prepared";
        System.out.println("initializing");
    }

    @Override
    public void preFreeze(Context context) {
        System.out.println("freezing");
    }

    @Override
    public void preStop(Context context) {
        System.out.println("stopping");
    }

    @Override
    public void handleRequest(InputStream input, OutputStream output, Context context) throws IOException {
        byte[] event = new byte[64];
        String order = new String(event, 0, Math.max(0, input.read(event)), "UTF-8");
        if (order.equals("fail")) {
            throw new IOException("oops");
        }
        if (order.equals("sleep")) {
            sleep();
        }
        if (order.equals("exit")) {
            System.exit(3);
        }
        context.getLogger().info("working");
        context.getLogger().debug("not shown");
        String seen = String.join(" ",
            order, prepared, context.getRequestId(), context.getExecutionCredentials().getAccessKeyId(),
            context.getExecutionCredentials().getSecurityToken(), context.getFunctionParam().getFunctionName(),
            context.getFunctionParam().getFunctionHandler(),
            "" + context.getFunctionParam().getExecTimeLimitInMillis(),
            "" + context.getFunctionParam().getMemoryLimitInMB(), context.getService().getName(),
            context.getService().getLogProject(), context.getService().getQualifier(),
            context.getTracing().getSpanContext(), "" + context.getRetryCount());
        output.write(seen.getBytes("UTF-8"));
    }

    private static void sleep() {
        try {
            Thread.sleep(60000);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    public static class Order {
        private String name;
        private int count;
        public List<String> tags;

        public String getName() {
            return name;
        }

        public void setName(String name) {
            this.name = name;
        }

        public int getCount() {
            return count;
        }

        public void setCount(int count) {
            this.count = count;
        }
    }

    public static class Objects implements PojoRequestHandler<Order, Order> {
        @Override
        public Order handleRequest(Order order, Context context) {
            order.setCount(order.getCount() + 1);
            order.setName(order.getName() + "!");
            return order;
        }
    }

    public static class Web implements HttpRequestHandler {
        @Override
        public void handleRequest(HttpServletRequest request, HttpServletResponse response, Context context)
            throws IOException {
            response.setStatus(201);
            response.setContentType("text/plain");
            response.addHeader("X-Own", "a");
            response.addHeader("X-Own", request.getHeader("x-two"));
            PrintWriter writer = response.getWriter();
            writer.print(request.getMethod() + " " + request.getAttribute("FC_REQUEST_PATH") + " "
                + request.getAttribute("FC_REQUEST_URI") + " " + request.getAttribute("FC_REQUEST_CLIENT_IP") + " "
                + request.getParameter("x") + " " + request.getReader().readLine());
        }
    }

    /** Writes a piece, waits for the file that the request names, and writes another or fails. */
    public static class Slow implements HttpRequestHandler {
        @Override
        public void handleRequest(HttpServletRequest request, HttpServletResponse response, Context context)
            throws IOException {
            response.setStatus(201);
            response.setHeader("X-Own", "a");
            if (request.getParameter("length") != null) {
                response.setContentLength(4);
            }
            OutputStream output = response.getOutputStream();
            output.write("one ".getBytes("UTF-8"));
            output.flush();
            String awaited = request.getParameter("go");
            while (awaited != null && !new java.io.File(awaited).exists()) {
                try {
                    Thread.sleep(5);
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            }
            if (request.getParameter("fail") != null) {
                throw new IOException("oops");
            }
            if (request.getParameter("exit") != null) {
                Runtime.getRuntime().halt(3);
            }
            if (request.getParameter("length") == null) {
                response.getWriter().print("two " + response.isCommitted());
            }
        }
    }
}
